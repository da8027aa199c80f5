package carrel.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A small project that people could have written. */
public final class Project {
    private Project() {}

    public static Path write(Path folder) throws IOException {
        file(folder, "src/accounts/login.py", """
                from accounts.tokens import issue

                def authenticate_user(name, password):
                    \"""Check the password of a user and give a session token.\"""
                    user = find_user(name)
                    if user is None or not verify_password(password, user.password_hash):
                        raise PermissionError("wrong name or password")
                    return issue(user)
                """);
        file(folder, "src/accounts/tokens.py", """
                import secrets

                SESSION_SECONDS = 3600

                def issue(user):
                    \"""Make a session token that ends after an hour.\"""
                    return {"user": user.id, "token": secrets.token_hex(16), "expires": now() + SESSION_SECONDS}

                def is_expired(session):
                    return session["expires"] <= now()
                """);
        file(folder, "src/storage/Database.java", """
                package storage;

                /** Keeps a pool of database connections. */
                public class Database {
                    private final int poolSize;

                    public Database(int poolSize) {
                        this.poolSize = poolSize;
                    }

                    public Connection borrowConnection() throws InterruptedException {
                        return pool.take();
                    }
                }
                """);
        file(folder, "docs/orders.md", """
                # Orders

                An order is paid, packed and sent. A customer can cancel it until it is packed; the refund is made the same day.
                """);
        file(folder, "notes.txt", "Remember to raise the size of the connection pool before the summer sale.\n");
        return folder;
    }

    /** A file that can answer with its beginning and with its end. */
    public static void writeLong(Path folder) throws IOException {
        var text = new StringBuilder("def stamp_parcel(weight):\n    \"\"\"Stamp a parcel by its weight.\"\"\"\n    return weight * 2\n");
        for (int i = 0; i < 20; i++) {
            text.append("\n\ndef fold_%d(paper):\n    return paper.half(%d)\n".formatted(i, i));
        }
        text.append("\n\ndef stamp_letter(weight):\n    \"\"\"Stamp a letter by its weight.\"\"\"\n    return weight * 3\n");
        file(folder, "src/post.py", text.toString());
    }

    /** Many files, so that an index run can be stopped while it goes on. */
    public static void writeMany(Path folder, int files) throws IOException {
        for (int i = 0; i < files; i++) {
            var text = new StringBuilder();
            for (int j = 0; j < 12; j++) {
                text.append("def handler_%d_%d(request):\n    total = request.amount * %d\n    return {'total': total, 'name': 'h%d'}\n\n"
                        .formatted(i, j, j, i));
            }
            file(folder, "many/part_%d/module_%d.py".formatted(i % 20, i), text.toString());
        }
    }

    private static void file(Path folder, String name, String text) throws IOException {
        var file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
