package com.intellij.notification;

public final class NotificationGroup {
    private NotificationGroup() {}

    public Notification createNotification(String title, String content, NotificationType type) {
        throw new UnsupportedOperationException();
    }
}
