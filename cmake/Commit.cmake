# cmake -DSOURCE=... -DOUT=... -P Commit.cmake: writes the commit of the sources into a C header.
# The header is touched only when the commit changes, so a build without a new commit compiles nothing.
# Sources without their own .git (a tarball, also one unpacked inside another repository) are "unknown".
set(commit "")
if(EXISTS "${SOURCE}/.git")
    execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY "${SOURCE}"
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[-._/0-9A-Za-z]+$")
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "#define FGSF_COMMIT \"${commit}\"\n")
