import { createIdentity } from "./admin.ts"
import { begin, checkNoBrowser, input, needFresh, needMethod, submitted } from "./flows.ts"
import { type State } from "./state.ts"
import { type Call, deviceOf, type Reply } from "./wire.ts"

/** GET /self-service/registration/api */
export const beginRegistration = (state: State, call: Call): Reply =>
  begin(state, call, {
    kind: "registration",
    type: "api",
    furnish: (flow) => {
      flow.nodes = [input("default", "traits.email"), input("profile", "method", "profile")]
    }
  })

/** POST /self-service/registration?flow=: with a password; does not sign in. */
export const submitRegistration = (state: State, call: Call): Reply => {
  const flow = submitted(state, call, "registration")
  needFresh(state, flow)
  checkNoBrowser(state, flow, call)
  needMethod(state, "password")
  const { password, traits } = call.body as {
    readonly password?: string
    readonly traits?: { readonly email?: string }
  }
  const { body } = createIdentity(state, {
    ...call,
    body: { traits, credentials: { password: { config: { password } } } }
  })
  // Listed, although no client received its token.
  state.open(state.byIdentifier(traits?.email ?? "")!, "password", deviceOf(call))
  return { status: 200, body: { identity: body, continue_with: null } }
}
