package carrel.ide;

import carrel.panel.Places;
import com.intellij.notification.NotificationType;
import com.intellij.openapi.fileEditor.FileEditorManager;
import com.intellij.openapi.fileEditor.OpenFileDescriptor;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.vfs.LocalFileSystem;
import com.intellij.openapi.vfs.VirtualFile;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The editor's files: which are open, and how to open one. */
final class EditorPlaces implements Places {
    private final Project project;

    EditorPlaces(Project project) {
        this.project = project;
    }

    @Override
    public void open(String uri, int line) {
        var file = LocalFileSystem.getInstance().refreshAndFindFileByNioFile(Path.of(URI.create(uri)));
        if (file == null) {
            ServerNotifications.tell(project, "The file isn't there any more: " + uri, NotificationType.WARNING);
        } else {
            new OpenFileDescriptor(project, file, line - 1, 0).navigate(true);
        }
    }

    /** URIs of the open files that lie on a disk. */
    List<String> open() {
        return uris(FileEditorManager.getInstance(project).getOpenFiles());
    }

    /** The URI of the file in front; null if there is none on a disk. */
    String front() {
        return uris(FileEditorManager.getInstance(project).getSelectedFiles()).stream().findFirst().orElse(null);
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
