import { Effect } from "effect"
import { Conflict, InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type Hydra, type HydraRefusal, type Meaning } from "./Calls.ts"
import { readClient, readClientAndSecret, readClients } from "./Replies.ts"
import { isId, isPathId, isStorableJson, oneLine } from "./Text.ts"

type Port = OAuth2["Service"]

const clientsPath = "/admin/clients"

const unknown = new NotFound({ error: "There is no such client", code: "CLIENT_NOT_FOUND" })
const badPage = new InvalidRequest({ error: "page_token is not one that was given", code: "INVALID_PAGE_TOKEN" })
const badText = new InvalidRequest({
  error: "The client has text that can't be stored, is nested too deep, or its metadata is no object",
  code: "INVALID_CLIENT"
})

/** 404 of the server itself; one without its body is of something else at that address. */
export const noSuchClient: Meaning<NotFound> = ({ error, status }) =>
  status === 404 && error !== "" ? unknown : undefined

/** Asks at the path of a client, if one can have this id. */
export const knownClient = <A, E>(
  id: string,
  ask: (path: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | NotFound> =>
  // What is no text can't be percent-encoded either.
  isPathId(id) ? ask(`${clientsPath}/${encodeURIComponent(id)}`) : Effect.fail(unknown)

/** What is wrong with a client's fields (RFC 7591 3.2.2), in the server's words: they are about the caller's own. */
export const badFields: Meaning<InvalidRequest> = ({ description, error, status }) => {
  if (status !== 400 || error === "") return undefined
  const why = oneLine(description).slice(0, 500)
  return new InvalidRequest({
    error: `The OAuth 2.0 server does not take this client${why === "" ? "" : `: ${why}`}`,
    code: "INVALID_CLIENT"
  })
}

const taken = ({ status }: HydraRefusal) =>
  status === 409 ? new Conflict({ error: "There is a client of this id already", code: "CLIENT_EXISTS" }) : undefined

/** The applications that may ask people to sign in. */
export const clientsOn = ({ call, tell }: Hydra) => {
  const clients: Port["clients"] = ({ pageSize, pageToken }) => {
    if (pageToken !== undefined && !isId(pageToken)) return Effect.fail(badPage)
    const query = { page_size: String(pageSize), ...(pageToken === undefined ? {} : { page_token: pageToken }) }
    const asked = call({ method: "GET", path: clientsPath, query }, readClients, ({ error, status }) =>
      status === 400 && error !== "" && pageToken !== undefined ? badPage : undefined
    )
    return Effect.map(asked, ({ next, value }) => ({ clients: value, next }))
  }

  const client: Port["client"] = (id) =>
    knownClient(id, (path) => Effect.map(call({ method: "GET", path }, readClient, noSuchClient), ({ value }) => value))

  const createClient: Port["createClient"] = (fields) =>
    isStorableJson(fields) && isJsonObject(fields["metadata"] ?? {})
      ? Effect.map(
          call(
            { method: "POST", path: clientsPath, body: fields },
            readClientAndSecret,
            (refusal) => taken(refusal) ?? badFields(refusal)
          ),
          ({ value }) => value
        )
      : Effect.fail(badText)

  const removeClient: Port["removeClient"] = (id) =>
    knownClient(id, (path) => tell({ method: "DELETE", path }, noSuchClient))

  return { clients, client, createClient, removeClient }
}
