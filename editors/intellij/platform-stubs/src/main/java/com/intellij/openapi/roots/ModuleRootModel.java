package com.intellij.openapi.roots;

public interface ModuleRootModel {
    String[] getExcludeRootUrls();
}
