# cmake -DFOLDER=<data> -DFILES=<paths in it> -DOUTPUT=<.cpp> -P embed.cmake: the files' text as kEmbeddedFiles of
# estimator/embedded.h. Compilers must take texts of 65,536 characters, and warn of longer ones, which all of ours take.
set(text "#include \"estimator/embedded.h\"\n\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\nnamespace vramfit {\n\nconst EmbeddedFile kEmbeddedFiles[] = {\n")
foreach(file IN LISTS FILES)
  file(READ "${FOLDER}/${file}" content)
  string(APPEND text "    {\"${file}\",\n     R\"embedded(${content})embedded\"},\n")
endforeach()
list(LENGTH FILES count)
file(WRITE "${OUTPUT}" "${text}};\nconst std::size_t kEmbeddedFileCount = ${count};\n\n}  // namespace vramfit\n\n#pragma GCC diagnostic pop\n")
