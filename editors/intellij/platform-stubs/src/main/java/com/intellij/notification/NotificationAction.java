package com.intellij.notification;

import com.intellij.openapi.actionSystem.AnAction;

public abstract class NotificationAction extends AnAction {
    public static NotificationAction createSimpleExpiring(String text, Runnable performAction) {
        throw new UnsupportedOperationException();
    }
}
