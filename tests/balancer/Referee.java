import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.broker.loadbalance.ModularLoadManagerStrategy;
import org.apache.pulsar.broker.loadbalance.impl.AvgShedder;
import org.apache.pulsar.common.configuration.PulsarConfigurationLoader;
import org.apache.pulsar.policies.data.loadbalancer.BrokerData;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageMessageData;

/**
 * Plays rounds of shedding and placement with Pulsar's own classes: a line of JSON in, a line of JSON out.
 *
 * A line with "conf" begins a fleet: strategies are made anew and every memory is empty. A line is a round: the
 * brokers' reports as their znodes hold them, the bundles in grace, and whether brokers came or went. What the answer
 * lists is in the order in which these classes walk it, since that order decides ties.
 */
public final class Referee {
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    private static final Map<String, List<String>> MEMORIES = Map.of(
            "ThresholdShedder", List.of("brokerAvgResourceUsage"),
            "AvgShedder", List.of("brokerScoreMap", "brokerHitCountForHigh", "brokerHitCountForLow"));

    private ServiceConfiguration conf;
    private LoadSheddingStrategy shedding;
    private ModularLoadManagerStrategy placement;
    private LoadData loadData;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Referee referee = new Referee();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(JSON.writeValueAsString(referee.round(JSON.readTree(line))));
            answers.flush();
        }
    }

    private ObjectNode round(JsonNode asked) throws Exception {
        if (asked.has("conf")) {
            begin(asked);
        }
        report(asked.get("brokers"));
        loadData.getRecentlyUnloadedBundles().clear();
        asked.get("recentlyUnloaded").forEach(each -> loadData.getRecentlyUnloadedBundles().put(each.asText(), 1L));
        if (asked.get("brokersChanged").asBoolean()) {
            Set<String> active = loadData.getBrokerData().keySet();
            shedding.onActiveBrokersChange(active);
            if (placement != shedding) {
                placement.onActiveBrokersChange(active);
            }
        }
        ObjectNode answer = JSON.createObjectNode();
        long began = System.nanoTime();
        var found = shedding.findBundlesForUnloading(loadData, conf);
        answer.put("nanos", System.nanoTime() - began);
        ObjectNode unloads = answer.putObject("unloads");
        for (String broker : found.keySet()) {
            ArrayNode bundles = unloads.putArray(broker);
            found.get(broker).forEach(bundles::add);
        }
        ObjectNode memory = answer.putObject("memory");
        for (String field : MEMORIES.getOrDefault(shedding.getClass().getSimpleName(), List.of())) {
            ObjectNode values = memory.putObject(field);
            kept(field).forEach((broker, value) -> values.put(broker, value.doubleValue()));
        }
        ArrayNode brokers = answer.putArray("brokers");
        walked().forEach(brokers::add);
        ArrayNode bundles = answer.putArray("bundles");
        loadData.getBundleDataForLoadShedding().keySet().forEach(bundles::add);
        ObjectNode averages = answer.putObject("averages");
        loadData.getBundleData().forEach((bundle, data) -> {
            ArrayNode figures = averages.putArray(bundle);
            figures(figures, data.getShortTermData());
            figures(figures, data.getLongTermData());
        });
        ObjectNode rates = answer.putObject("brokerRates");
        loadData.getBrokerData().forEach((broker, data) -> rates.put(broker,
                data.getTimeAverageData().getLongTermMsgRateIn() + data.getTimeAverageData().getLongTermMsgRateOut()));
        place(unloads, answer);
        return answer;
    }

    private void begin(JsonNode asked) throws Exception {
        Properties properties = new Properties();
        asked.get("conf").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().asText()));
        conf = PulsarConfigurationLoader.create(properties, ServiceConfiguration.class);
        shedding = (LoadSheddingStrategy) made(conf.getLoadBalancerLoadSheddingStrategy());
        placement = conf.getLoadBalancerLoadPlacementStrategy().equals(conf.getLoadBalancerLoadSheddingStrategy())
                ? (ModularLoadManagerStrategy) shedding
                : (ModularLoadManagerStrategy) made(conf.getLoadBalancerLoadPlacementStrategy());
        loadData = new LoadData();
    }

    private static Object made(String className) throws Exception {
        return Class.forName(className).getDeclaredConstructor().newInstance();
    }

    /** Takes the reports over, and moves the averages as ModularLoadManagerImpl.updateBundleData does. */
    private void report(JsonNode reports) throws Exception {
        Map<String, BrokerData> brokers = loadData.getBrokerData();
        Set<String> named = new LinkedHashSet<>();
        reports.fieldNames().forEachRemaining(named::add);
        brokers.keySet().retainAll(named);
        for (String broker : named) {
            LocalBrokerData local = JSON.treeToValue(reports.get(broker), LocalBrokerData.class);
            if (brokers.containsKey(broker)) {
                brokers.get(broker).setLocalData(local);
            } else {
                brokers.put(broker, new BrokerData(local));
            }
        }
        Map<String, BundleData> bundles = loadData.getBundleData();
        Set<String> seen = new LinkedHashSet<>();
        for (BrokerData data : brokers.values()) {
            Map<String, NamespaceBundleStats> stats = data.getLocalData().getLastStats();
            stats.forEach((bundle, each) -> {
                seen.add(bundle);
                bundles.computeIfAbsent(bundle, name -> new BundleData(10, 1000, unseen())).update(each);
            });
            TimeAverageBrokerData averages = new TimeAverageBrokerData();
            averages.reset(stats.keySet(), bundles, unseen());
            data.setTimeAverageData(averages);
        }
        bundles.keySet().retainAll(seen);
    }

    private static NamespaceBundleStats unseen() {
        NamespaceBundleStats stats = new NamespaceBundleStats();
        stats.msgThroughputIn = 50000;
        stats.msgThroughputOut = 50000;
        stats.msgRateIn = 50;
        stats.msgRateOut = 50;
        return stats;
    }

    /** Names the brokers in the order that decides ties: AvgShedder goes by a map of its own. */
    private Iterable<String> walked() throws Exception {
        return shedding instanceof AvgShedder
                ? kept("brokerScoreMap").keySet()
                : loadData.getBrokerData().keySet();
    }

    @SuppressWarnings("unchecked")
    private Map<String, Number> kept(String field) throws Exception {
        Field found = shedding.getClass().getDeclaredField(field);
        found.setAccessible(true);
        return (Map<String, Number>) found.get(shedding);
    }

    private static void figures(ArrayNode into, TimeAverageMessageData data) {
        into.add(data.getNumSamples()).add(data.getMsgRateIn()).add(data.getMsgRateOut());
        into.add(data.getMsgThroughputIn()).add(data.getMsgThroughputOut());
    }

    /** Asks for a broker of each bundle that is shed, as doLoadShedding does: nothing is allocated in between. */
    private void place(ObjectNode unloads, ObjectNode answer) {
        ArrayNode placed = answer.putArray("placed");
        Set<String> candidates = new HashSet<>(loadData.getBrokerData().keySet());
        ArrayNode walked = answer.putArray("candidates");
        candidates.forEach(walked::add);
        unloads.fields().forEachRemaining(each -> each.getValue().forEach(bundle -> {
            BundleData data = loadData.getBundleData().get(bundle.asText());
            ArrayNode pair = placed.addArray().add(bundle.asText());
            pair.add(placement.selectBroker(candidates, data, loadData, conf).orElse(null));
        }));
    }
}
