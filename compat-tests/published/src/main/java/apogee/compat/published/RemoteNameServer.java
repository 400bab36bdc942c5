package apogee.compat.published;

import apogee.compat.servers.Server;
import java.util.Properties;
import org.apache.rocketmq.common.namesrv.NamesrvConfig;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;

/** The name server process as the published classes see it: the methods of {@link NamesrvController} that have an answer outside. */
public final class RemoteNameServer {
    private final Server server;
    private final Requests requests;
    private final LiveSettings<NamesrvConfig> settings;
    private final NamesrvController controller;

    RemoteNameServer(Server server, Requests requests) {
        this.server = server;
        this.requests = requests;
        settings = new LiveSettings<>(NamesrvConfig.class, new NamesrvConfig(), this::update);
        controller = StandIn.of(NamesrvController.class, this);
    }

    /** The object to hand to a test. */
    public NamesrvController controller() {
        return controller;
    }

    void refreshSettings() {
        Properties known;
        try {
            known = requests.nameServerConfig(server.address());
        } catch (Exception notAnswered) {
            return;
        }
        if (known != null) {
            settings.refresh(known);
        }
    }

    void putBack() {
        settings.putBack();
    }

    public NamesrvConfig getNamesrvConfig() {
        return settings.live();
    }

    public NettyServerConfig getNettyServerConfig() {
        NettyServerConfig config = new NettyServerConfig();
        config.setListenPort(server.port());
        return config;
    }

    private void update(String key, String value) {
        try {
            requests.updateNameServerConfig(server.address(), key, value);
        } catch (Exception e) {
            throw new IllegalStateException("the name server does not take " + key + "=" + value, e);
        }
    }
}
