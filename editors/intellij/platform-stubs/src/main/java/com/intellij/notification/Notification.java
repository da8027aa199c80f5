package com.intellij.notification;

import com.intellij.openapi.actionSystem.AnAction;
import com.intellij.openapi.project.Project;

public class Notification {
    public Notification addAction(AnAction action) {
        throw new UnsupportedOperationException();
    }

    public void notify(Project project) {
        throw new UnsupportedOperationException();
    }
}
