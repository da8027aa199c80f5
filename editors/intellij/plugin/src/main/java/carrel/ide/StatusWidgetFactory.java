package carrel.ide;

import carrel.memory.Headline;
import carrel.memory.Memory;
import com.intellij.openapi.application.ApplicationManager;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.wm.StatusBar;
import com.intellij.openapi.wm.StatusBarWidget;
import com.intellij.openapi.wm.StatusBarWidgetFactory;
import com.intellij.openapi.wm.ToolWindowManager;
import com.intellij.util.Consumer;
import java.awt.Component;
import java.awt.event.MouseEvent;

/** How the memory is, in the status bar; a click opens the Memory panel. */
public final class StatusWidgetFactory implements StatusBarWidgetFactory {
    /** As in plugin.xml. */
    private static final String ID = "carrel.status";

    @Override
    public String getId() {
        return ID;
    }

    @Override
    public String getDisplayName() {
        return "Carrel";
    }

    @Override
    public StatusBarWidget createWidget(Project project) {
        return new Widget(project, CarrelProject.of(project));
    }

    private static final class Widget implements StatusBarWidget, StatusBarWidget.TextPresentation {
        private final Project project;
        private final CarrelProject carrel;
        private final Memory memory;
        private final Runnable renewal = this::renewLater;
        private volatile StatusBar bar;

        Widget(Project project, CarrelProject carrel) {
            this.project = project;
            this.carrel = carrel;
            this.memory = carrel.memory();
        }

        @Override
        public String ID() {
            return ID;
        }

        @Override
        public WidgetPresentation getPresentation() {
            return this;
        }

        @Override
        public void install(StatusBar statusBar) {
            bar = statusBar;
            memory.onChange(renewal);
        }

        @Override
        public void dispose() {
            bar = null;
            memory.forgetListener(renewal);
        }

        @Override
        public String getText() {
            return Headline.of(memory.view(), carrel.choices().get().memoryIsOn()).inStatusBar();
        }

        @Override
        public float getAlignment() {
            return Component.LEFT_ALIGNMENT;
        }

        @Override
        public String getTooltipText() {
            return "Carrel: open the Memory panel";
        }

        @Override
        public Consumer<MouseEvent> getClickConsumer() {
            return click -> {
                var panel = ToolWindowManager.getInstance(project).getToolWindow(MemoryToolWindow.ID);
                if (panel != null) {
                    panel.activate(null);
                }
            };
        }

        private void renewLater() {
            ApplicationManager.getApplication().invokeLater(() -> {
                var shown = bar;
                if (shown != null) {
                    shown.updateWidget(ID);
                }
            });
        }
    }
}
