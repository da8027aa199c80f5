package com.intellij.openapi.wm;

import com.intellij.openapi.Disposable;
import com.intellij.util.Consumer;
import java.awt.event.MouseEvent;

public interface StatusBarWidget extends Disposable {
    String ID();

    default WidgetPresentation getPresentation() {
        return null;
    }

    default void install(StatusBar statusBar) {}

    interface WidgetPresentation {
        default String getTooltipText() {
            return null;
        }

        default Consumer<MouseEvent> getClickConsumer() {
            return null;
        }
    }

    interface TextPresentation extends WidgetPresentation {
        String getText();

        float getAlignment();
    }
}
