package carrel.protocol;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import com.google.gson.TypeAdapter;
import com.google.gson.TypeAdapterFactory;
import com.google.gson.annotations.SerializedName;
import com.google.gson.reflect.TypeToken;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Writes an enum by its {@link SerializedName}s. LSP4J writes enums as numbers, as its own protocol does. */
final class WireNames implements TypeAdapterFactory {
    @Override
    public <T> TypeAdapter<T> create(Gson gson, TypeToken<T> type) {
        var constants = type.getRawType().getEnumConstants();
        if (constants == null) {
            throw new IllegalArgumentException(type + " is not an enum");
        }
        var names = new HashMap<Object, String>();
        var values = new HashMap<String, T>();
        for (Object constant : constants) {
            var name = nameOf(type.getRawType(), constant.toString());
            names.put(constant, name);
            @SuppressWarnings("unchecked")
            var value = (T) constant;
            values.put(name, value);
        }
        return new Adapter<T>(names, values).nullSafe();
    }

    private static String nameOf(Class<?> type, String constant) {
        return Arrays.stream(type.getFields())
                .filter(field -> field.getName().equals(constant))
                .map(field -> field.getAnnotation(SerializedName.class).value())
                .findFirst()
                .orElseThrow();
    }

    private static final class Adapter<T> extends TypeAdapter<T> {
        private final Map<Object, String> names;
        private final Map<String, T> values;

        Adapter(Map<Object, String> names, Map<String, T> values) {
            this.names = names;
            this.values = values;
        }

        @Override
        public void write(JsonWriter out, T value) throws IOException {
            out.value(names.get(value));
        }

        @Override
        public T read(JsonReader in) throws IOException {
            var name = in.nextString();
            var value = values.get(name);
            if (value == null) {
                throw new JsonParseException("the server sent `%s`, which is none of %s".formatted(name, values.keySet()));
            }
            return value;
        }
    }
}
