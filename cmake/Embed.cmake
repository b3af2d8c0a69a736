# cmake -DDIR=... -DOUT=... -P Embed.cmake: writes the files of a folder into a C table of name and text.
file(GLOB paths "${DIR}/*")
set(table "")
set(texts "")
set(number 0)
foreach(path ${paths})
    get_filename_component(name "${path}" NAME)
    file(READ "${path}" bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND texts "static const char text_${number}[] = {${bytes}0};\n")
    string(APPEND table "    {\"${name}\", text_${number}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "#include \"export.h\"

${texts}
const export_template export_templates[] = {
${table}    {0},
};
" @ONLY)
