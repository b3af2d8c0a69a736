# Headers, the libraries fgsf and fgsf_envs, static and shared, ggml's archives (for the static one, and for
# definitions of networks) with the header ggml.h, the CMake package, a .pc file for each, and the drivers that
# work with any environment.

set(FGSF_ARCHIVE_DIR "${CMAKE_INSTALL_LIBDIR}/fgsf")
set(FGSF_GGML_HEADER_DIR "${CMAKE_INSTALL_INCLUDEDIR}/fgsf-ggml") # beside a system's ggml.h, not over it
set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fgsf")

install(FILES ${fgsf_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/fgsf")
install(TARGETS fgsf fgsf_shared fgsf_envs fgsf_envs_shared EXPORT fgsfTargets)
install(FILES ${FGSF_GGML_ARCHIVES} DESTINATION "${FGSF_ARCHIVE_DIR}")
if(FGSF_GGML_ARCHIVES)
    install(FILES "${FGSF_GGML_INCLUDE_DIR}/ggml.h" DESTINATION "${FGSF_GGML_HEADER_DIR}")
endif()
install(EXPORT fgsfTargets NAMESPACE fgsf:: DESTINATION "${config_dir}")
if(FGSF_BUILD_EXPERIMENTS)
    foreach(driver train watch rollout)
        install(PROGRAMS "$<TARGET_FILE:driver_${driver}>" DESTINATION "${CMAKE_INSTALL_BINDIR}"
                RENAME fgsf-${driver})
    endforeach()
    install(PROGRAMS "$<TARGET_FILE:notebooks_export>" DESTINATION "${CMAKE_INSTALL_BINDIR}"
            RENAME fgsf-export)
endif()

# GGML_CUDA and GGML_VULKAN archives call libraries of their own.
if(FGSF_CUDA)
    list(APPEND FGSF_SYSTEM_LIBRARIES "-L${CUDAToolkit_LIBRARY_DIR}" cudart cublas)
endif()
if(FGSF_VULKAN)
    list(APPEND FGSF_SYSTEM_LIBRARIES vulkan)
endif()
list(APPEND FGSF_SYSTEM_LIBRARIES stdc++ m pthread ${CMAKE_DL_LIBS})

set(FGSF_ENV_LIBRARIES m)
if(FGSF_HAVE_MUJOCO)
    list(PREPEND FGSF_ENV_LIBRARIES mujoco)
endif()

configure_package_config_file(cmake/fgsfConfig.cmake.in "${PROJECT_BINARY_DIR}/fgsfConfig.cmake"
    INSTALL_DESTINATION "${config_dir}"
    PATH_VARS FGSF_ARCHIVE_DIR FGSF_GGML_HEADER_DIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fgsfConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/fgsfConfig.cmake"
              "${PROJECT_BINARY_DIR}/fgsfConfigVersion.cmake" DESTINATION "${config_dir}")

# A .pc file finds its prefix from where it lies, so an installed tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(FGSF_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(FGSF_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(kind LIBDIR INCLUDEDIR)
    set(FGSF_PC_${kind} "${CMAKE_INSTALL_${kind}}")
    if(NOT IS_ABSOLUTE "${FGSF_PC_${kind}}")
        set(FGSF_PC_${kind} "\${prefix}/${FGSF_PC_${kind}}")
    endif()
endforeach()
list(TRANSFORM FGSF_GGML_NAMES PREPEND "-l" OUTPUT_VARIABLE pc_ggml)
list(TRANSFORM FGSF_SYSTEM_LIBRARIES PREPEND "-l" REGEX "^[^-]" OUTPUT_VARIABLE pc_system)
list(TRANSFORM FGSF_ENV_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE pc_envs)
list(JOIN pc_envs " " FGSF_PC_ENVS)
list(JOIN pc_ggml " " FGSF_PC_GGML)
if(FGSF_GGML_LINK)
    list(JOIN FGSF_GGML_LINK " " FGSF_PC_GGML)
endif()
list(JOIN pc_system " " FGSF_PC_SYSTEM)
set(FGSF_PC_LIBS "-L\${libdir} -lfgsf")
set(FGSF_PC_GRAPH "-L\${libdir}/fgsf -lggml-base")
set(FGSF_PC_GRAPH_INCLUDEDIR "\${includedir}/fgsf-ggml")
if(NOT FGSF_GGML_ARCHIVES)
    set(FGSF_PC_GRAPH "-L${GGML_LIB_DIR} -lggml-base")
    set(FGSF_PC_GRAPH_INCLUDEDIR "${FGSF_GGML_INCLUDE_DIR}")
endif()
foreach(name fgsf fgsf_plugin fgsf_envs)
    configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc"
            DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# The same for what is not installed: PKG_CONFIG_PATH=build/pkgconfig. Paths are seen from there, since a
# shell would cut an absolute one at its spaces, and the library is the static one, which needs no path at
# run time.
if(NOT FGSF_GGML_SOURCE_DIR)
    set(here "${PROJECT_BINARY_DIR}/pkgconfig")
    file(RELATIVE_PATH ggml_lib "${here}" "${GGML_LIB_DIR}")
    file(RELATIVE_PATH ggml_include "${here}" "${FGSF_GGML_INCLUDE_DIR}")
    file(RELATIVE_PATH FGSF_PC_PREFIX "${here}" "${PROJECT_SOURCE_DIR}")
    set(FGSF_PC_PREFIX "\${pcfiledir}/${FGSF_PC_PREFIX}")
    set(FGSF_PC_LIBDIR "\${pcfiledir}/..")
    set(FGSF_PC_INCLUDEDIR "\${prefix}/include")
    set(FGSF_PC_GRAPH "-L\${pcfiledir}/${ggml_lib} -lggml-base")
    set(FGSF_PC_GRAPH_INCLUDEDIR "\${pcfiledir}/${ggml_include}")
    set(FGSF_PC_LIBS "\${libdir}/libfgsf.a -L\${pcfiledir}/${ggml_lib} ${FGSF_PC_GGML} ${FGSF_PC_SYSTEM}")
    foreach(name fgsf fgsf_plugin)
        configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc" @ONLY)
    endforeach()
endif()
