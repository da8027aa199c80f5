package carrel.ide;

import carrel.panel.ChatPanel;
import com.intellij.openapi.project.DumbAware;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.wm.ToolWindow;
import com.intellij.openapi.wm.ToolWindowFactory;
import com.intellij.ui.content.ContentFactory;

/** The chat in a tool window. */
public final class ChatToolWindow implements ToolWindowFactory, DumbAware {
    @Override
    public void createToolWindowContent(Project project, ToolWindow window) {
        var carrel = CarrelProject.of(project);
        carrel.folders().stream().findFirst().ifPresent(folder -> {
            var panel = new ChatPanel(carrel.conversation(), folder, new IdePanelHost(project));
            var content = ContentFactory.getInstance().createContent(panel, "", false);
            content.setPreferredFocusableComponent(panel.focus());
            window.getContentManager().addContent(content);
        });
    }
}
