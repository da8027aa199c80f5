package com.intellij.openapi.module;

import com.intellij.openapi.project.Project;
import com.intellij.openapi.util.SimpleModificationTracker;

public abstract class ModuleManager extends SimpleModificationTracker {
    public static ModuleManager getInstance(Project project) {
        throw new UnsupportedOperationException();
    }

    public abstract Module[] getModules();
}
