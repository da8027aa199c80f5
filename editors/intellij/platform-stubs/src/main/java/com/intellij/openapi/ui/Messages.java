package com.intellij.openapi.ui;

import com.intellij.openapi.project.Project;
import javax.swing.Icon;

public class Messages {
    public static final int OK = 0;

    public static String showInputDialog(
            Project project, String message, String title, Icon icon, String initialValue, InputValidator validator) {
        throw new UnsupportedOperationException();
    }

    public static int showOkCancelDialog(
            Project project, String message, String title, String okText, String cancelText, Icon icon) {
        throw new UnsupportedOperationException();
    }

    public static int showDialog(
            Project project, String message, String title, String[] options, int defaultOptionIndex, Icon icon) {
        throw new UnsupportedOperationException();
    }

    public static String getCancelButton() {
        throw new UnsupportedOperationException();
    }

    public static Icon getWarningIcon() {
        throw new UnsupportedOperationException();
    }

    public static Icon getQuestionIcon() {
        throw new UnsupportedOperationException();
    }
}
