package com.intellij.openapi.roots;

import com.intellij.openapi.project.Project;
import java.util.EventObject;

public abstract class ModuleRootEvent extends EventObject {
    protected ModuleRootEvent(Project project) {
        super(project);
    }
}
