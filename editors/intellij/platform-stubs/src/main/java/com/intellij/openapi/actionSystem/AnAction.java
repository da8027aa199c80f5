package com.intellij.openapi.actionSystem;

public abstract class AnAction {
    public AnAction() {}

    public void update(AnActionEvent event) {}

    public abstract void actionPerformed(AnActionEvent event);

    public ActionUpdateThread getActionUpdateThread() {
        throw new UnsupportedOperationException();
    }
}
