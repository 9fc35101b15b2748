// What the module imports beside WASI: vramfit.mjs answers it. Here the linker learns of its name.
mergeInto(LibraryManager.library, { vramfit_told() {} });
