package carrel.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.Choices;
import carrel.protocol.Messages.ConfirmParams;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.annotations.SerializedName;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.eclipse.lsp4j.ClientCapabilities;
import org.eclipse.lsp4j.Range;
import org.eclipse.lsp4j.jsonrpc.services.JsonNotification;
import org.eclipse.lsp4j.jsonrpc.services.JsonRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The records agree with the schema that the server's own messages make. */
class SchemaTest {
    private static final JsonObject SCHEMA = read();
    private static final JsonObject DEFINITIONS = SCHEMA.getAsJsonObject("$defs");

    static Stream<Class<?>> records() {
        return Arrays.stream(Messages.class.getDeclaredClasses()).filter(Class::isRecord);
    }

    static Stream<Method> requests() {
        return Arrays.stream(CarrelServer.class.getDeclaredMethods()).filter(method -> method.isAnnotationPresent(JsonRequest.class));
    }

    @ParameterizedTest
    @MethodSource("records")
    void aRecordHasTheFieldsOfItsDefinition(Class<?> type) {
        var definition = DEFINITIONS.getAsJsonObject(type.getSimpleName());
        assertNotNull(definition, type.getSimpleName() + " is not in the schema");
        var properties = definition.getAsJsonObject("properties");
        assertEquals(
                properties.keySet(),
                Arrays.stream(type.getRecordComponents()).map(RecordComponent::getName).collect(Collectors.toSet()));
        var required = strings(definition.get("required"));
        for (RecordComponent field : type.getRecordComponents()) {
            var name = type.getSimpleName() + "." + field.getName();
            assertTrue(fits(field.getGenericType(), properties.getAsJsonObject(field.getName())), name + " has another type");
            assertTrue(!field.getType().isPrimitive() || required.contains(field.getName()), name + " may be missing");
        }
    }

    /** The status is what the panel shows: none of it may be left out for want of a record. The rest of the protocol is used in part. */
    @Test
    void everyDefinitionOfTheStatusHasARecord() {
        var needed = new TreeSet<String>();
        var open = new ArrayDeque<>(List.of("StatusResult"));
        while (!open.isEmpty()) {
            var name = open.pop();
            if (needed.add(name)) {
                open.addAll(references(DEFINITIONS.get(name)).toList());
            }
        }
        assertTrue(needed.size() > 1, "the status refers to definitions");
        needed.removeAll(records().map(Class::getSimpleName).toList());
        assertEquals(Set.of(), needed);
    }

    @ParameterizedTest
    @MethodSource("requests")
    void aRequestTakesAndGivesWhatTheSchemaSays(Method method) {
        var ends = SCHEMA.getAsJsonObject("requests").getAsJsonObject(method.getAnnotation(JsonRequest.class).value());
        assertNotNull(ends, method.getName() + " is not in the schema");
        assertEquals(method.getParameterTypes()[0].getSimpleName(), reference(ends.getAsJsonObject("params")));
        var result = (Class<?>) ((ParameterizedType) method.getGenericReturnType()).getActualTypeArguments()[0];
        assertEquals(result.getSimpleName(), reference(ends.getAsJsonObject("result")));
    }

    @Test
    void everyNotificationIsHeard() {
        var heard = Arrays.stream(CarrelClient.class.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(JsonNotification.class))
                .collect(Collectors.toMap(
                        method -> method.getAnnotation(JsonNotification.class).value(),
                        method -> method.getParameterTypes()[0].getSimpleName()));
        var told = SCHEMA.getAsJsonObject("notifications").entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, entry -> reference(entry.getValue().getAsJsonObject())));
        assertEquals(told, heard);
    }

    @Test
    void whatIsAskedIsAnsweredAndAnnounced() throws NoSuchMethodException {
        var method = CarrelClient.class.getDeclaredMethod("confirm", ConfirmParams.class);
        var ends = SCHEMA.getAsJsonObject("clientRequests").getAsJsonObject(method.getAnnotation(JsonRequest.class).value());
        assertEquals("ConfirmParams", reference(ends.getAsJsonObject("params")));
        assertEquals("ConfirmResult", reference(ends.getAsJsonObject("result")));
        var capabilities = new ClientCapabilities();
        capabilities.setExperimental(JsonParser.parseString("{\"other\": 1}"));
        CarrelClient.announce(capabilities);
        assertEquals(
                JsonParser.parseString("{\"other\": 1, \"carrel\": {\"confirm\": true, \"ownSettings\": true}}"),
                capabilities.getExperimental());
    }

    @Test
    void choicesHaveTheServersNamesDefaultsAndLimits() {
        var settings = DEFINITIONS.getAsJsonObject("Settings").getAsJsonObject("properties");
        var all = new Choices(true, 7, true, List.of("file:///a")).toSettings();
        assertEquals(Set.of("ragEnabled", "ragTopK", "ragAutoIndex"), all.keySet());
        assertTrue(settings.keySet().containsAll(all.keySet()));
        assertEquals(settings.getAsJsonObject("ragEnabled").get("default").getAsBoolean(), Choices.NONE.enabled());
        assertEquals(settings.getAsJsonObject("ragAutoIndex").get("default").getAsBoolean(), Choices.NONE.autoIndex());
        var topK = settings.getAsJsonObject("ragTopK");
        assertEquals(topK.get("default").getAsInt(), Choices.NONE.topK());
        assertEquals(topK.get("minimum").getAsInt(), Choices.NONE.withTopK(-3).topK());
        assertEquals(topK.get("maximum").getAsInt(), Choices.NONE.withTopK(1_000).topK());
    }

    private static boolean fits(Type type, JsonObject schema) {
        if (schema.has("anyOf")) {
            return StreamSupport.stream(schema.getAsJsonArray("anyOf").spliterator(), false)
                    .anyMatch(one -> fits(type, one.getAsJsonObject()));
        }
        if (schema.has("$ref")) {
            return type instanceof Class<?> named && named.getSimpleName().equals(reference(schema))
                    && (named == Range.class || named.isRecord());
        }
        if (schema.has("enum")) {
            return type == String.class
                    || type instanceof Class<?> named && named.isEnum() && strings(schema.get("enum")).equals(constants(named));
        }
        return switch (schema.has("type") ? schema.get("type").getAsString() : "") {
            case "string" -> type == String.class;
            case "boolean" -> type == boolean.class || type == Boolean.class;
            case "integer" -> Set.of(int.class, long.class, Integer.class, Long.class).contains(type);
            case "number" -> type == double.class || type == Double.class;
            case "array" -> type instanceof ParameterizedType list && list.getRawType() == List.class
                    && fits(list.getActualTypeArguments()[0], schema.getAsJsonObject("items"));
            case "object" -> type instanceof ParameterizedType map && map.getRawType() == Map.class
                    && map.getActualTypeArguments()[0] == String.class
                    && (!(schema.get("additionalProperties") instanceof JsonObject values)
                            || values.size() == 0
                            || fits(map.getActualTypeArguments()[1], values));
            default -> false;
        };
    }

    private static Set<String> constants(Class<?> type) {
        return Arrays.stream(type.getFields())
                .filter(field -> field.isEnumConstant())
                .map(field -> field.getAnnotation(SerializedName.class).value())
                .collect(Collectors.toSet());
    }

    /** Names of the definitions that a part of the schema refers to, however deep. */
    private static Stream<String> references(JsonElement part) {
        if (part.isJsonArray()) {
            return StreamSupport.stream(part.getAsJsonArray().spliterator(), false).flatMap(SchemaTest::references);
        }
        if (!part.isJsonObject()) {
            return Stream.empty();
        }
        var object = part.getAsJsonObject();
        return Stream.concat(
                Stream.ofNullable(reference(object)),
                object.entrySet().stream().flatMap(entry -> references(entry.getValue())));
    }

    private static String reference(JsonObject schema) {
        return schema.has("$ref") ? schema.get("$ref").getAsString().replace("#/$defs/", "") : null;
    }

    private static Set<String> strings(JsonElement array) {
        return array == null
                ? Set.of()
                : StreamSupport.stream(array.getAsJsonArray().spliterator(), false)
                        .map(JsonElement::getAsString)
                        .collect(Collectors.toSet());
    }

    private static JsonObject read() {
        try {
            var file = Path.of(System.getProperty("carrel.repository"), "editors", "protocol.schema.json");
            return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
        } catch (IOException error) {
            throw new ExceptionInInitializerError(error);
        }
    }
}
