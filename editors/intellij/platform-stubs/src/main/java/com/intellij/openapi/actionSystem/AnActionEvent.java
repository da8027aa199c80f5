package com.intellij.openapi.actionSystem;

import com.intellij.openapi.project.Project;

public class AnActionEvent {
    public Project getProject() {
        throw new UnsupportedOperationException();
    }

    public Presentation getPresentation() {
        throw new UnsupportedOperationException();
    }
}
