package com.intellij.notification;

public interface NotificationGroupManager {
    static NotificationGroupManager getInstance() {
        throw new UnsupportedOperationException();
    }

    NotificationGroup getNotificationGroup(String groupId);
}
