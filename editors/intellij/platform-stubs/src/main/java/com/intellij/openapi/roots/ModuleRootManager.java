package com.intellij.openapi.roots;

import com.intellij.openapi.module.Module;

public abstract class ModuleRootManager implements ModuleRootModel {
    public static ModuleRootManager getInstance(Module module) {
        throw new UnsupportedOperationException();
    }
}
