package com.intellij.openapi.wm;

import com.intellij.openapi.project.Project;

public interface StatusBarWidgetFactory {
    String getId();

    String getDisplayName();

    StatusBarWidget createWidget(Project project);
}
