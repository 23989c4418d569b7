import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyName;
import com.fasterxml.jackson.databind.deser.BeanDeserializerBase;
import com.fasterxml.jackson.databind.deser.BuilderBasedDeserializer;
import com.fasterxml.jackson.databind.deser.DefaultDeserializationContext;
import com.fasterxml.jackson.databind.deser.SettableBeanProperty;
import com.fasterxml.jackson.databind.deser.ValueInstantiator;
import com.fasterxml.jackson.databind.deser.impl.SetterlessProperty;
import com.fasterxml.jackson.databind.deser.std.MapDeserializer;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.databind.ser.PropertyWriter;
import com.fasterxml.jackson.databind.ser.std.BeanSerializerBase;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Asks the classes of one version of Pulsar which fields of a stored document they read and write.
 *
 * The serializers and deserializers that Jackson built are asked, not the classes: mix-ins, mapped interfaces and
 * ignored properties are honoured as the broker honours them. One JSON object by kind goes to stdout:
 *
 *   table  the fields that are read and written, the derived ones that are only written, what {} is written as, and
 *          the types of all fields that are read
 *   fill   a document with every field that is read and written, each with another value than that of {}
 *   keep   documents from stdin, read and written again
 *   judge  by kind, for each document of an array in stdin (bytes, in base 64): null where it is read, else why not
 */
public final class FieldsOfClasses {
    private static final ObjectMapper JSON = mapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final String DATA = "org.apache.pulsar.common.policies.data.";
    /** As the broker's metadata caches are made with. */
    private static final Map<String, String> CLASSES = Map.of(
            "tenant", DATA + "TenantInfo",
            "namespace", DATA + "Policies",
            "partitioned-topic", "org.apache.pulsar.common.partition.PartitionedTopicMetadata",
            "cluster", DATA + "ClusterData",
            "resource-group", DATA + "ResourceGroup",
            "topic-policy", DATA + "TopicPolicies");
    private static final String ISOLATION = "isolation-policy";
    private static final String ISOLATION_CLASS = DATA + "NamespaceIsolationDataImpl";

    private final DeserializationContext reading;
    private final Deque<Class<?>> above = new ArrayDeque<>();
    private int texts;

    private FieldsOfClasses() throws Exception {
        JsonParser parser = JSON.createParser("{}");
        reading = ((DefaultDeserializationContext) JSON.getDeserializationContext())
                .createInstance(JSON.getDeserializationConfig(), parser, JSON.getInjectableValues());
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        FieldsOfClasses fields = new FieldsOfClasses();
        String asked = args[0];
        boolean told = asked.equals("keep") || asked.equals("judge");
        JsonNode documents = told ? JSON.readTree(System.in) : MissingNode.getInstance();
        ObjectNode answer = NODES.objectNode();
        for (Map.Entry<String, JavaType> kind : types().entrySet()) {
            JavaType type = kind.getValue();
            JsonNode found = switch (asked) {
                case "table" -> fields.described(type);
                case "fill" -> fields.filled(fields.deserializer(type), type, kept(type, NODES.objectNode()));
                case "keep" -> kept(type, documents.path(kind.getKey()));
                case "judge" -> judged(type, documents.path(kind.getKey()));
                default -> throw new IllegalArgumentException(asked);
            };
            answer.set(kind.getKey(), found);
        }
        answers.println(JSON.writeValueAsString(answer));
    }

    /** The mapper that brokers use. Pulsar 2.10 and 2.11 name it otherwise, so it is looked up at run time. */
    private static ObjectMapper mapper() {
        try {
            Object wrapped = ObjectMapperFactory.class.getMethod("getMapper").invoke(null);
            return (ObjectMapper) wrapped.getClass().getMethod("getObjectMapper").invoke(wrapped);
        } catch (NoSuchMethodException before3) {
            try {
                return (ObjectMapper) ObjectMapperFactory.class.getMethod("getThreadLocal").invoke(null);
            } catch (ReflectiveOperationException refused) {
                throw new IllegalStateException(refused);
            }
        } catch (ReflectiveOperationException refused) {
            throw new IllegalStateException(refused);
        }
    }

    private static Map<String, JavaType> types() throws ClassNotFoundException {
        Map<String, JavaType> types = new LinkedHashMap<>();
        for (Map.Entry<String, String> kind : CLASSES.entrySet()) {
            types.put(kind.getKey(), JSON.constructType(Class.forName(kind.getValue())));
        }
        types.put(ISOLATION, JSON.getTypeFactory()
                .constructMapType(Map.class, String.class, Class.forName(ISOLATION_CLASS)));
        return types;
    }

    private static JsonNode kept(JavaType type, JsonNode document) throws Exception {
        Object value = JSON.readerFor(type).readValue(JSON.writeValueAsBytes(document));
        return JSON.readTree(JSON.writeValueAsBytes(value));
    }

    private JsonNode described(JavaType type) throws Exception {
        JsonDeserializer<?> deserializer = deserializer(type);
        ObjectNode told = NODES.objectNode();
        told.set("fields", tree(deserializer));
        ArrayNode derived = told.putArray("derived");
        if (deserializer instanceof BeanDeserializerBase bean) {
            written(bean).stream().filter(name -> read(bean, name) == null).forEach(derived::add);
        }
        told.set("written", kept(type, NODES.objectNode()));
        JsonNode types = typed(deserializer, type);
        ((ObjectNode) types).remove("made");  // a stored value is an object
        told.set("types", types);
        return told;
    }

    /** Why each document cannot be read; null where it can. */
    private static JsonNode judged(JavaType type, JsonNode documents) throws Exception {
        ArrayNode answers = NODES.arrayNode();
        for (JsonNode document : documents) {
            try {
                JSON.readerFor(type).readValue(document.binaryValue());
                answers.addNull();
            } catch (IOException refused) {
                String why = refused.getMessage();
                answers.add(refused.getClass().getSimpleName() + ": " + why.substring(0, Math.min(200, why.length())));
            }
        }
        return answers;
    }

    /**
     * The type of a value: a name ("constant": a text or number, known or not), or an object with one of:
     *
     *   object  types by names; other names are passed over. "made": what else it is made of. "after", of
     *           any: names, one of which must come before it
     *   list    the type of its members
     *   map     the type of its values; any text is a key
     */
    private JsonNode typed(JsonDeserializer<?> deserializer, JavaType type) throws Exception {
        if (deserializer instanceof MapDeserializer map) {
            if (refuses(type, NODES.objectNode().set("no constant", NODES.nullNode()))) {
                throw new IllegalStateException("not any text is a key of " + type);
            }
            return NODES.objectNode().set("map", typed(map.getContentDeserializer(), type.getContentType()));
        }
        if (deserializer instanceof BeanDeserializerBase bean) {
            if (above.contains(bean.handledType())) {
                throw new IllegalStateException(bean.handledType() + " is within itself");
            }
            above.push(bean.handledType());
            Map<String, JsonNode> types = new TreeMap<>();
            for (Iterator<SettableBeanProperty> each = bean.properties(); each.hasNext();) {
                SettableBeanProperty property = each.next();
                if (property.hasValueTypeDeserializer()) {
                    throw new IllegalStateException(property.getName() + " names its class");
                }
                JsonNode below = typed(property.getValueDeserializer(), property.getType());
                if (property instanceof SetterlessProperty) {
                    ((ObjectNode) below).set("after", before(bean, property, below));
                }
                types.put(property.getName(), below);
                for (PropertyName alias : property.findAliases(JSON.getDeserializationConfig())) {
                    types.put(alias.getSimpleName(), below);
                }
            }
            above.pop();
            ObjectNode told = NODES.objectNode().set("object", NODES.objectNode().setAll(types));
            ArrayNode others = made(bean.getValueInstantiator());
            return others.isEmpty() ? told : told.set("made", others);
        }
        if (deserializer.getClass().getSimpleName().equals("EnumMapDeserializer")) {
            throw new IllegalStateException("a map by constants: of which class is not asked yet");
        }
        if (type.isCollectionLikeType() || type.isArrayType()) {
            JavaType element = type.getContentType();
            return NODES.objectNode().set("list", typed(deserializer(element), element));
        }
        if (type.isEnumType()) {
            if (refuses(type, TextNode.valueOf("no constant")) || refuses(type, IntNode.valueOf(-1))) {
                throw new IllegalStateException(type + " has no constant for what it does not know");
            }
            return TextNode.valueOf("constant");
        }
        return TextNode.valueOf(name(type.getRawClass()));
    }

    /** The fields, one of which must have been read for a collection that only a getter hands out to be there. */
    private ArrayNode before(BeanDeserializerBase bean, SettableBeanProperty late, JsonNode type) throws Exception {
        ArrayNode told = NODES.arrayNode();
        JavaType whole = JSON.constructType(bean.handledType());
        JsonNode any = type.has("list") ? NODES.arrayNode() : NODES.objectNode();
        for (String name : written(bean)) {
            SettableBeanProperty first = read(bean, name);
            if (first != null) {
                JsonNode value = filled(first.getValueDeserializer(), first.getType(), MissingNode.getInstance());
                ObjectNode both = NODES.objectNode().set(name, value);
                if (!refuses(whole, both.set(late.getName(), any))) {
                    told.add(name);
                }
            }
        }
        return told;
    }

    private static ArrayNode made(ValueInstantiator creators) {
        if (creators.canCreateFromLong() || creators.canCreateFromDouble() || creators.canCreateUsingDelegate()
                || creators.canCreateUsingArrayDelegate()) {
            throw new IllegalStateException(creators.getValueTypeDesc() + " is made in a way that is not asked yet");
        }
        ArrayNode told = NODES.arrayNode();
        if (creators.canCreateFromString()) {
            told.add("text");
        }
        if (creators.canCreateFromInt()) {
            told.add("int");
        }
        return creators.canCreateFromBoolean() ? told.add("boolean") : told;
    }

    private static String name(Class<?> type) {
        if (type == boolean.class || type == Boolean.class) {
            return "boolean";
        }
        if (type == int.class || type == Integer.class) {
            return "int";
        }
        if (type == long.class || type == Long.class) {
            return "long";
        }
        if (type == double.class) {
            return "double";
        }
        if (type == Double.class) {
            return "boxed double";
        }
        if (type == String.class) {
            return "text";
        }
        throw new IllegalStateException("no name is known for a " + type);
    }

    /** Whether a value cannot be read. */
    private static boolean refuses(JavaType type, JsonNode document) {
        try {
            JSON.readerFor(type).readValue(JSON.writeValueAsBytes(document));
            return false;
        } catch (IOException refused) {
            return true;
        }
    }

    private JsonDeserializer<?> deserializer(JavaType type) throws Exception {
        return reading.findRootValueDeserializer(type);
    }

    /**
     * The fields below a value, "*" for any key of a map; true where nothing is known below.
     *
     * Below the top, what is written only stands among the others: it comes and goes with its object.
     */
    private JsonNode tree(JsonDeserializer<?> deserializer) throws Exception {
        if (deserializer instanceof MapDeserializer map) {
            JsonNode below = tree(map.getContentDeserializer());
            return below.isObject() ? NODES.objectNode().set("*", below) : BooleanNode.TRUE;
        }
        if (!(deserializer instanceof BeanDeserializerBase bean) || above.contains(bean.handledType())) {
            return BooleanNode.TRUE;
        }
        above.push(bean.handledType());
        ObjectNode fields = NODES.objectNode();
        for (String name : written(bean)) {
            SettableBeanProperty property = read(bean, name);
            if (property != null && !property.hasValueTypeDeserializer()) {
                fields.set(name, tree(property.getValueDeserializer()));
            } else if (property != null || above.size() > 1) {
                fields.set(name, BooleanNode.TRUE);
            }
        }
        above.pop();
        return fields.isEmpty() ? BooleanNode.TRUE : fields;
    }

    /**
     * The property that keeps what is read of a field; null: none does.
     *
     * Without a setter Jackson adds to the collection that the getter hands out: here a copy, which is lost.
     */
    private static SettableBeanProperty read(BeanDeserializerBase bean, String name) {
        SettableBeanProperty property = bean.findProperty(name);
        return property instanceof SetterlessProperty ? null : property;
    }

    /** The names that a value is written with which this deserializer has read. */
    private static TreeSet<String> written(BeanDeserializerBase bean) throws Exception {
        if (bean instanceof BuilderBasedDeserializer) {
            throw new IllegalStateException(bean.handledType() + " is a builder: of which class is not asked yet");
        }
        TreeSet<String> names = new TreeSet<>();
        JsonSerializer<?> serializer = JSON.getSerializerProviderInstance().findValueSerializer(bean.handledType());
        if (serializer instanceof BeanSerializerBase) {
            for (Iterator<PropertyWriter> each = serializer.properties(); each.hasNext();) {
                names.add(each.next().getName());
            }
        }
        return names;
    }

    /** A value of the type that differs from what stands there already. */
    private JsonNode filled(JsonDeserializer<?> deserializer, JavaType type, JsonNode standing) throws Exception {
        if (deserializer instanceof MapDeserializer map) {
            JavaType keys = type.getKeyType();
            String key = keys.isEnumType() ? filled(null, keys, MissingNode.getInstance()).asText() : "some-key";
            JsonNode value = filled(map.getContentDeserializer(), type.getContentType(), standing.path(key));
            return NODES.objectNode().set(key, value);
        }
        if (deserializer instanceof BeanDeserializerBase bean) {
            ObjectNode document = NODES.objectNode();
            for (String name : written(bean)) {
                SettableBeanProperty property = read(bean, name);
                if (property != null) {
                    JsonDeserializer<?> below = property.getValueDeserializer();
                    document.set(name, filled(below, property.getType(), standing.path(name)));
                }
            }
            return document;
        }
        if (type.isCollectionLikeType() || type.isArrayType()) {
            JavaType element = type.getContentType();
            return NODES.arrayNode().add(filled(deserializer(element), element, MissingNode.getInstance()));
        }
        return scalar(type.getRawClass(), standing);
    }

    private JsonNode scalar(Class<?> type, JsonNode standing) {
        if (type == boolean.class || type == Boolean.class) {
            return BooleanNode.valueOf(!standing.asBoolean());
        }
        if (type.isPrimitive() || Number.class.isAssignableFrom(type)) {
            return IntNode.valueOf(standing.asInt() + 7);
        }
        if (type == String.class) {
            return TextNode.valueOf("text-" + ++texts);
        }
        if (type.isEnum()) {
            for (Object constant : type.getEnumConstants()) {
                JsonNode value = JSON.valueToTree(constant);
                if (!value.equals(standing)) {
                    return value;
                }
            }
        }
        throw new IllegalStateException("no value is known for a " + type);
    }
}
