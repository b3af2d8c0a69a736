# Finds ggml and cJSON for the target fgsf_dependencies, MuJoCo for fgsf_env_dependencies, OpenBLAS and
# MPI for the drivers.
# Sets, for the installed package: FGSF_GGML_ARCHIVES and FGSF_GGML_NAMES (the static archives to
# install, in link order), FGSF_GGML_LINK (flags for fgsf.pc when ggml is the system's),
# FGSF_SYSTEM_LIBRARIES (names for -l) and FGSF_PACKAGE_DEPENDENCIES (find_dependency arguments).

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
add_library(fgsf_dependencies INTERFACE)
add_library(fgsf_env_dependencies INTERFACE)
add_library(fgsf_driver_dependencies INTERFACE)
set(FGSF_SYSTEM_LIBRARIES "")
set(FGSF_PACKAGE_DEPENDENCIES Threads)
set(FGSF_GGML_ARCHIVES "")
set(FGSF_GGML_NAMES "")
set(FGSF_GGML_LINK "")

# ---- ggml ----------------------------------------------------------------------------------------

set(ggml_extra "")
foreach(backend CUDA VULKAN)
    if(FGSF_${backend})
        string(TOLOWER "${backend}" lower)
        list(APPEND ggml_extra "${lower}")
    endif()
endforeach()

# ggml's config caches what it finds; forget that, so that another FGSF_GGML takes effect.
foreach(name GGML GGML_BASE GGML_CPU GGML_BLAS GGML_CUDA GGML_VULKAN)
    unset(${name}_LIBRARY CACHE)
endforeach()
set(BLA_VENDOR OpenBLAS)

if(FGSF_GGML_SOURCE_DIR)
    foreach(setting GGML_OPENMP=OFF GGML_BLAS=ON GGML_BLAS_VENDOR=OpenBLAS GGML_LLAMAFILE=OFF
            GGML_BUILD_TESTS=OFF GGML_BUILD_EXAMPLES=OFF BUILD_SHARED_LIBS=OFF
            GGML_CUDA=${FGSF_CUDA} GGML_CUDA_FA=OFF GGML_CUDA_NCCL=OFF GGML_CUDA_NO_VMM=ON
            GGML_VULKAN=${FGSF_VULKAN})
        string(REPLACE "=" ";" setting "${setting}")
        list(GET setting 0 name)
        list(GET setting 1 value)
        set(${name} "${value}" CACHE INTERNAL "")
    endforeach()
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    add_subdirectory("${FGSF_GGML_SOURCE_DIR}" ggml EXCLUDE_FROM_ALL)
    unset(CMAKE_POSITION_INDEPENDENT_CODE)
    target_include_directories(fgsf_dependencies SYSTEM INTERFACE "${FGSF_GGML_SOURCE_DIR}/include")
    target_link_libraries(fgsf_dependencies INTERFACE ggml)
    set(ggml_backends ggml-blas ggml-cpu)
    foreach(backend ${ggml_extra})
        list(PREPEND ggml_backends ggml-${backend})
    endforeach()
    foreach(target ggml ${ggml_backends} ggml-base)
        list(APPEND FGSF_GGML_ARCHIVES "$<TARGET_FILE:${target}>")
        list(APPEND FGSF_GGML_NAMES ${target})
    endforeach()
elseif(FGSF_GGML STREQUAL "system")
    find_package(ggml CONFIG REQUIRED)
    list(APPEND FGSF_PACKAGE_DEPENDENCIES ggml)
    list(TRANSFORM GGML_AVAILABLE_BACKENDS PREPEND "-l" OUTPUT_VARIABLE FGSF_GGML_LINK)
    set(FGSF_GGML_LINK "-L${GGML_LIB_DIR}" -lggml ${FGSF_GGML_LINK} -lggml-base)
    target_link_libraries(fgsf_dependencies INTERFACE ggml::ggml)
elseif(FGSF_GGML STREQUAL "pinned")
    list(JOIN ggml_extra "-" suffix)
    set(ggml_prefix "${FGSF_THIRD_PARTY_DIR}/ggml")
    set(setup_arguments "")
    if(ggml_extra)
        string(APPEND ggml_prefix "-${suffix}")
        list(TRANSFORM ggml_extra PREPEND " --backend " OUTPUT_VARIABLE setup_arguments)
        list(JOIN setup_arguments "" setup_arguments)
    endif()
    if(NOT EXISTS "${ggml_prefix}/stamp")
        message(FATAL_ERROR "The pinned ggml is not in ${ggml_prefix}: run third_party/setup"
            "${setup_arguments}, or set FGSF_GGML=system or FGSF_GGML_SOURCE_DIR.")
    endif()
    find_package(ggml CONFIG REQUIRED PATHS "${ggml_prefix}" NO_DEFAULT_PATH)
    target_link_libraries(fgsf_dependencies INTERFACE ggml::ggml)
    set(FGSF_GGML_NAMES ggml)
    foreach(backend ${GGML_AVAILABLE_BACKENDS} ggml-base)
        list(APPEND FGSF_GGML_NAMES ${backend})
    endforeach()
    foreach(name ${FGSF_GGML_NAMES})
        list(APPEND FGSF_GGML_ARCHIVES
            "${ggml_prefix}/lib/${CMAKE_STATIC_LIBRARY_PREFIX}${name}${CMAKE_STATIC_LIBRARY_SUFFIX}")
    endforeach()
else()
    message(FATAL_ERROR "FGSF_GGML is '${FGSF_GGML}': it must be pinned or system")
endif()
foreach(backend CUDA VULKAN)
    if(FGSF_${backend})
        target_compile_definitions(fgsf_dependencies INTERFACE FGSF_HAVE_${backend}=1)
    endif()
endforeach()

if(FGSF_CUDA) # which ggml's package does not name
    find_package(CUDAToolkit REQUIRED)
    target_link_libraries(fgsf_dependencies INTERFACE CUDA::cudart CUDA::cublas)
endif()

# ---- Libraries with a header and a -l name -------------------------------------------------------

# fgsf_find(TARGET NAME header library suffix...) defines FGSF_HAVE_NAME=1 for TARGET when found.
function(fgsf_find target name header library)
    find_path(FGSF_${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN})
    find_library(FGSF_${name}_LIBRARY ${library} PATH_SUFFIXES ${ARGN})
    mark_as_advanced(FGSF_${name}_INCLUDE_DIR FGSF_${name}_LIBRARY)
    if(FGSF_${name}_INCLUDE_DIR AND FGSF_${name}_LIBRARY)
        target_compile_definitions(${target} INTERFACE FGSF_HAVE_${name}=1)
        target_include_directories(${target} SYSTEM INTERFACE "${FGSF_${name}_INCLUDE_DIR}")
        target_link_libraries(${target} INTERFACE "${FGSF_${name}_LIBRARY}")
        set(FGSF_HAVE_${name} 1 PARENT_SCOPE)
    endif()
endfunction()

fgsf_find(fgsf_dependencies CJSON cjson/cJSON.h cjson)
fgsf_find(fgsf_driver_dependencies CBLAS cblas.h openblas openblas-serial openblas-pthread
    openblas)
fgsf_find(fgsf_env_dependencies MUJOCO mujoco/mujoco.h mujoco)
if(NOT FGSF_HAVE_CJSON)
    message(FATAL_ERROR "cjson/cJSON.h or libcjson is missing: run third_party/setup")
endif()
list(APPEND FGSF_SYSTEM_LIBRARIES cjson)
if("ggml-blas" IN_LIST FGSF_GGML_NAMES)
    list(APPEND FGSF_SYSTEM_LIBRARIES openblas)
endif()
if(NOT FGSF_HAVE_MUJOCO)
    message(STATUS "MuJoCo not found: of the environments only Four Rooms is offered")
endif()
target_link_libraries(fgsf_dependencies INTERFACE Threads::Threads m)

# ---- MPI, only in the experiment drivers ---------------------------------------------------------

set(FGSF_MPI_TARGET "")
set(FGSF_MPI_DEFINITION "")
if(FGSF_MPI STREQUAL "AUTO")
    find_package(MPI QUIET COMPONENTS C)
elseif(FGSF_MPI)
    find_package(MPI REQUIRED COMPONENTS C)
endif()
if(FGSF_MPI AND MPI_C_FOUND)
    set(FGSF_MPI_TARGET MPI::MPI_C)
    set(FGSF_MPI_DEFINITION FGSF_HAVE_MPI=1)
endif()
