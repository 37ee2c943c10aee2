# What `make install` puts where. The library finds its worker from its own place, the program finds the library by
# $ORIGIN, tensorwasm.pc knows its prefix from its own folder: the whole can be moved.
install(TARGETS tensorwasm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tensor-wasm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET tensor-wasm-compile)
  install(TARGETS tensor-wasm-compile RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tensorwasm)
endif()
install(DIRECTORY include/tensorwasm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

file(RELATIVE_PATH TW_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/tensorwasm.pc.in ${CMAKE_BINARY_DIR}/tensorwasm.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tensorwasm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The man page and the completions are printed by the program itself, from the tables that it parses with.
set(TW_DOCS ${CMAKE_BINARY_DIR}/docs)
set(TW_DOC_FILES)
foreach(doc "man tensor-wasm.1" "bash tensor-wasm.bash" "zsh _tensor-wasm" "fish tensor-wasm.fish")
  separate_arguments(doc)
  list(GET doc 0 kind)
  list(GET doc 1 name)
  add_custom_command(OUTPUT ${TW_DOCS}/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${TW_DOCS}
    COMMAND tensor-wasm generate ${kind} > ${TW_DOCS}/${name}
    DEPENDS tensor-wasm VERBATIM)
  list(APPEND TW_DOC_FILES ${TW_DOCS}/${name})
endforeach()
add_custom_target(tw_docs ALL DEPENDS ${TW_DOC_FILES})
install(FILES ${TW_DOCS}/tensor-wasm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${TW_DOCS}/tensor-wasm.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME tensor-wasm)
install(FILES ${TW_DOCS}/_tensor-wasm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${TW_DOCS}/tensor-wasm.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
