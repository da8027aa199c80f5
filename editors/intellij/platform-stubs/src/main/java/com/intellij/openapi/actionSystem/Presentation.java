package com.intellij.openapi.actionSystem;

public class Presentation {
    public final void setEnabledAndVisible(boolean enabled) {
        throw new UnsupportedOperationException();
    }
}
