package com.intellij.openapi.actionSystem;

public enum ActionUpdateThread {
    EDT,
    BGT
}
