package com.intellij.openapi.components;

/** Constants are compiled in, so they have the platform's values. */
public final class StoragePathMacros {
    public static final String PRODUCT_WORKSPACE_FILE = "$PRODUCT_WORKSPACE_FILE$";

    private StoragePathMacros() {}
}
