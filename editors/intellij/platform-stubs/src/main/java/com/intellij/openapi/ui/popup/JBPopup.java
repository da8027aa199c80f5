package com.intellij.openapi.ui.popup;

import com.intellij.openapi.Disposable;
import com.intellij.openapi.project.Project;

public interface JBPopup extends Disposable {
    void showCenteredInCurrentWindow(Project project);

    void cancel();
}
