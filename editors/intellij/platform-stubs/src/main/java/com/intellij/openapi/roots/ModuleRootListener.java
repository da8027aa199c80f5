package com.intellij.openapi.roots;

import java.util.EventListener;

public interface ModuleRootListener extends EventListener {
    default void rootsChanged(ModuleRootEvent event) {
        throw new UnsupportedOperationException();
    }
}
