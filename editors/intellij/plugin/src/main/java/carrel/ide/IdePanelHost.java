package carrel.ide;

import carrel.memory.PermissionQuestion;
import carrel.panel.ChatHost;
import carrel.panel.PanelHost;
import carrel.protocol.Messages.ActiveEditor;
import com.intellij.notification.NotificationType;
import com.intellij.openapi.editor.Document;
import com.intellij.openapi.editor.Editor;
import com.intellij.openapi.fileEditor.FileEditorManager;
import com.intellij.openapi.fileEditor.OpenFileDescriptor;
import com.intellij.openapi.ide.CopyPasteManager;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.ui.Messages;
import com.intellij.openapi.vfs.LocalFileSystem;
import com.intellij.openapi.vfs.VirtualFile;
import com.intellij.openapi.wm.ToolWindowManager;
import java.awt.datatransfer.StringSelection;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.eclipse.lsp4j.Position;
import org.eclipse.lsp4j.Range;

/** The IDE around the panels: its open files, its clipboard, its questions. */
final class IdePanelHost implements PanelHost, ChatHost {
    private final Project project;

    IdePanelHost(Project project) {
        this.project = project;
    }

    @Override
    public void open(String uri, int line) {
        if (!uri.startsWith("file:")) {
            ServerNotifications.tell(project, "This place isn't on this machine: " + uri, NotificationType.INFORMATION);
            return;
        }
        var file = LocalFileSystem.getInstance().refreshAndFindFileByNioFile(Path.of(URI.create(uri)));
        if (file == null) {
            ServerNotifications.tell(project, "The file isn't there any more: " + uri, NotificationType.WARNING);
        } else {
            new OpenFileDescriptor(project, file, line - 1, 0).navigate(true);
        }
    }

    @Override
    public void copy(String text) {
        CopyPasteManager.getInstance().setContents(new StringSelection(text));
    }

    @Override
    public boolean confirm(String question, String action) {
        return Messages.showOkCancelDialog(project, question, "Carrel", action, Messages.getCancelButton(), Messages.getWarningIcon())
                == Messages.OK;
    }

    @Override
    public boolean isTrusted() {
        return Trust.isIn(project);
    }

    /** Whether the person clicks on Allow. Only on the UI thread. */
    boolean permits(PermissionQuestion question) {
        return PermissionQuestion.allows(Messages.showDialog(
                project, question.text(), question.title(), PermissionQuestion.BUTTONS, 0, Messages.getWarningIcon()));
    }

    @Override
    public List<String> open() {
        return uris(FileEditorManager.getInstance(project).getOpenFiles());
    }

    @Override
    public void showReceipts() {
        var window = ToolWindowManager.getInstance(project).getToolWindow(MemoryToolWindow.ID);
        if (window != null) {
            window.activate(null);
        }
    }

    @Override
    public ActiveEditor front() {
        var editor = FileEditorManager.getInstance(project).getSelectedTextEditor();
        return uris(FileEditorManager.getInstance(project).getSelectedFiles()).stream()
                .findFirst()
                .map(uri -> new ActiveEditor(uri, editor == null ? null : range(editor)))
                .orElse(null);
    }

    private static Range range(Editor editor) {
        var selection = editor.getSelectionModel();
        if (selection.getSelectionStart() == selection.getSelectionEnd()) {
            return null;
        }
        var document = editor.getDocument();
        return new Range(position(document, selection.getSelectionStart()), position(document, selection.getSelectionEnd()));
    }

    private static Position position(Document document, int offset) {
        int line = document.getLineNumber(offset);
        return new Position(line, offset - document.getLineStartOffset(line));
    }

    /** The selected words, if they fit on one line. */
    String selection() {
        var editor = FileEditorManager.getInstance(project).getSelectedTextEditor();
        var selected = editor == null ? null : editor.getSelectionModel().getSelectedText();
        return selected == null || selected.contains("\n") ? "" : selected;
    }

    private static List<String> uris(VirtualFile[] files) {
        return Arrays.stream(files)
                .filter(VirtualFile::isInLocalFileSystem)
                .map(file -> file.toNioPath().toUri().toString())
                .toList();
    }
}
