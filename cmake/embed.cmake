# cmake -DFOLDER=<data> -DFILES=<paths in it> -DOUTPUT=<.cpp> -P embed.cmake: the files' text as kEmbeddedFiles of
# estimator/embedded.h.
set(text "#include \"estimator/embedded.h\"\n\nnamespace vramfit {\n\nconst EmbeddedFile kEmbeddedFiles[] = {\n")
foreach(file IN LISTS FILES)
  file(READ "${FOLDER}/${file}" content)
  string(APPEND text "    {\"${file}\",\n     R\"embedded(${content})embedded\"},\n")
endforeach()
list(LENGTH FILES count)
file(WRITE "${OUTPUT}" "${text}};\nconst std::size_t kEmbeddedFileCount = ${count};\n\n}  // namespace vramfit\n")
