import { Effect, Option, Schema } from "effect"
import {
  type BadGateway,
  Conflict,
  Forbidden,
  Gone,
  InvalidRequest,
  NotFound,
  StepUpRequired,
  type Unauthorized,
  Unavailable
} from "../../../domain/errors.ts"
import { type FlowError } from "../../../services/ports/IdP.ts"
import { broken, type Kratos, type KratosCall, kratosUnauthenticated } from "./Client.ts"
import { WireRefusal } from "./Wire.ts"
import { type UpstreamAnswer } from "../../net/Upstream.ts"

/** A response that is not a success. */
export interface Refusal {
  readonly status: number
  /** Kratos's error id, "" when there is none. */
  readonly id: string
  /** Kratos's text, for the log and to distinguish errors without an id. */
  readonly reason: string
  /** Errors of the form and its fields. */
  readonly messages: ReadonlyArray<{ readonly id: number; readonly text: string }>
  /** Whether the body is the form. */
  readonly form: boolean
  readonly redirectTo: string
}

type About = Pick<KratosCall, "method" | "path">

const decode = Schema.decodeUnknownOption(WireRefusal)

export const kratosRefusalOf = (answer: UpstreamAnswer): Refusal => {
  const body = Option.getOrUndefined(decode(answer.body))
  const ui = body?.ui ?? undefined
  const messages = [...(ui?.nodes ?? []).flatMap((node) => node.messages ?? []), ...(ui?.messages ?? [])]
  return {
    status: answer.status,
    id: body?.error?.id ?? "",
    reason: `${body?.error?.message ?? ""} ${body?.error?.reason ?? ""}`.trim(),
    messages: messages.filter(({ type }) => type === "error"),
    form: ui !== undefined,
    redirectTo: body?.redirect_browser_to ?? ""
  }
}

/** `redirect_to` does not lead back yet. */
const aal2Required = (kratos: Kratos) =>
  new StepUpRequired({
    error: "A second factor is required",
    code: "aal2_required",
    redirect_to: kratos.loginUrl({ aal: "aal2" })
  })

const reauthenticationRequired = (kratos: Kratos) =>
  new StepUpRequired({
    error: "The last sign-in is too long ago; sign in again",
    code: "reauthentication_required",
    redirect_to: kratos.loginUrl({ refresh: "true" })
  })

export const kratosFlowNotFound = () => new NotFound({ error: "No such flow", code: "FLOW_NOT_FOUND" })
export const kratosFlowExpired = () => new Gone({ error: "The flow has expired; start again", code: "FLOW_EXPIRED" })

export const kratosMethodDisabled = () =>
  new Unavailable({ error: "This method is disabled at the identity provider", code: "METHOD_DISABLED" })

/** Errors of any call with a session. */
const ofSession = (kratos: Kratos, { id, status }: Refusal): Unauthorized | StepUpRequired | undefined => {
  if (status === 401) return kratosUnauthenticated()
  if (status !== 403) return undefined
  if (id === "session_aal2_required") return aal2Required(kratos)
  return id === "session_refresh_required" ? reauthenticationRequired(kratos) : undefined
}

/** The method is disabled: messages of login, settings and recovery. */
const noStrategy = new Set([4_010_002, 4_010_004, 4_010_005])

export const changedMeanwhile = () => new Conflict({ error: "Another request is changing this account; try again" })

/**
 * Concurrent changes of one identity: Kratos stores its credentials again, finds them already present, and reports "an
 * account with the same identifier exists".
 */
const ofRace = ({ messages, status }: Refusal) =>
  status === 400 && messages.some(({ id }) => id === 4_000_007) ? changedMeanwhile() : undefined

/** Errors of any call with a flow. */
const ofFlow = (kratos: Kratos, call: About, refusal: Refusal): FlowError | undefined => {
  const { form, id, messages, reason, redirectTo, status } = refusal
  switch (status) {
    case 303:
    case 410:
      // Kratos starts another flow with another secret, which can't continue this one.
      return kratosFlowExpired()
    case 400:
      if (!form) return undefined
      if (messages.some(({ id }) => noStrategy.has(id))) return kratosMethodDisabled()
      return new InvalidRequest({ error: messages[0]?.text.slice(0, 300) ?? "The identity provider rejected the form" })
    case 403:
      return id === "security_identity_mismatch"
        ? new Forbidden({ error: "The flow belongs to another user", code: "FLOW_FORBIDDEN" })
        : undefined
    case 404:
      // The endpoint itself is missing if the query names no flow.
      if (!call.path.includes("?")) return undefined
      return reason.includes("disabled by system administrator") ? kratosMethodDisabled() : kratosFlowNotFound()
    case 422:
      return URL.canParse(redirectTo) && new URL(redirectTo).searchParams.get("aal") === "aal2"
        ? aal2Required(kratos)
        : undefined
    default:
      return undefined
  }
}

/** Fails with the error of a call with a session. */
export const sessionRefused = (kratos: Kratos, call: About, answer: UpstreamAnswer) =>
  refused(call, answer, (refusal) => ofSession(kratos, refusal))

/** Fails with the error of a call with a flow; `meaning` takes precedence over the general errors. */
export const flowRefused = (
  kratos: Kratos,
  call: About,
  answer: UpstreamAnswer,
  meaning: (refusal: Refusal) => FlowError | undefined = () => undefined
) =>
  refused<FlowError>(
    call,
    answer,
    (refusal) => ofRace(refusal) ?? meaning(refusal) ?? ofSession(kratos, refusal) ?? ofFlow(kratos, call, refusal)
  )

const refused = <E>(
  call: About,
  answer: UpstreamAnswer,
  meaning: (refusal: Refusal) => E | undefined
): Effect.Effect<never, E | BadGateway> => {
  const refusal = kratosRefusalOf(answer)
  const error = meaning(refusal)
  return error === undefined
    ? broken(call, refusal.status, [refusal.id, refusal.reason].filter(Boolean).join(" "))
    : Effect.fail(error)
}
