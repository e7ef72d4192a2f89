import { type ServiceImpl } from "@connectrpc/connect"
import { type CallContext, peerIn } from "./Peer.ts"
import { type FlagService, selected } from "./Service.ts"
import { type FlagSyncService, type SyncFlagsResponse } from "../gen/flagd/sync/v1/sync_pb.ts"

/** The configuration for a selector of an unknown environment. */
const noFlags = `{"flags":{}}`

/** Interval in which a stream checks for changes without a notification, in ms. */
const pollMillis = 20_000

/** flagd.sync.v1.FlagSyncService: sends all flags of one environment to clients that evaluate themselves. */
export const flagSync = (service: FlagService): ServiceImpl<typeof FlagSyncService> => ({
  syncFlags: ({ selector }, context) => snapshots(service, selected(service, context.requestHeader, selector), context),
  fetchAllFlags: ({ selector }, { requestHeader }) => {
    const environment = selected(service, requestHeader, selector)
    return { flagConfiguration: configurationOf(service, environment) }
  },
  // The service adds nothing to contexts, but older providers call this.
  getMetadata: () => ({ metadata: {} })
})

type Selected = ReturnType<typeof selected>

const configurationOf = (service: FlagService, environment: Selected) =>
  environment === "none" ? noFlags : service.current(environment).configuration(service.versioned)

/** The current flags, then the flags after each change. A slow reader skips intermediate states. */
async function* snapshots(
  service: FlagService,
  environment: Selected,
  context: CallContext
): AsyncGenerator<Pick<SyncFlagsResponse, "flagConfiguration" | "syncContext">, void> {
  const subscription = service.feed.subscribe(environment, context.signal, peerIn(context))
  let sent: string | undefined
  for (;;) {
    subscription.check()
    const flagConfiguration = configurationOf(service, environment)
    if (flagConfiguration !== sent) yield { flagConfiguration, syncContext: {} }
    sent = flagConfiguration
    await subscription.next(pollMillis)
  }
}
