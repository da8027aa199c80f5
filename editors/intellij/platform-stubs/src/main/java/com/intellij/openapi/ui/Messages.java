package com.intellij.openapi.ui;

import com.intellij.openapi.project.Project;
import javax.swing.Icon;

public class Messages {
    public static String showInputDialog(
            Project project, String message, String title, Icon icon, String initialValue, InputValidator validator) {
        throw new UnsupportedOperationException();
    }

    public static Icon getQuestionIcon() {
        throw new UnsupportedOperationException();
    }
}
