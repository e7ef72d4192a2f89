import { Effect } from "effect"
import { Conflict, InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type Hydra, type HydraRefusal, type Meaning } from "./Calls.ts"
import { readClient, readClientAndSecret, readClients } from "./Replies.ts"
import { isId, isPathId, isStorableJson, oneLine } from "../../../domain/oauth2/Text.ts"

type Port = OAuth2["Service"]

const clientsPath = "/admin/clients"

const unknown = new NotFound({ error: "No such client", code: "CLIENT_NOT_FOUND" })
const badPage = new InvalidRequest({ error: "page_token is invalid", code: "INVALID_PAGE_TOKEN" })
const badText = new InvalidRequest({
  error: "The client contains text that can't be stored, is nested too deeply, or its metadata is not an object",
  code: "INVALID_CLIENT"
})

/** A 404 of the server itself; without its body the response is from something else at that address. */
export const noSuchClient: Meaning<NotFound> = ({ error, status }) =>
  status === 404 && error !== "" ? unknown : undefined

/** Makes a request at the path of a client, if the id is a possible one. */
export const knownClient = <A, E>(
  id: string,
  request: (path: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | NotFound> =>
  // Unpaired surrogates can't be percent-encoded.
  isPathId(id) ? request(`${clientsPath}/${encodeURIComponent(id)}`) : Effect.fail(unknown)

/** Problems with a client's fields (RFC 7591 3.2.2), as the server describes them. */
export const badFields: Meaning<InvalidRequest> = ({ description, error, status }) => {
  if (status !== 400 || error === "") return undefined
  const why = oneLine(description).slice(0, 500)
  return new InvalidRequest({
    error: `The OAuth 2.0 server rejected this client${why === "" ? "" : `: ${why}`}`,
    code: "INVALID_CLIENT"
  })
}

const taken = ({ status }: HydraRefusal) =>
  status === 409 ? new Conflict({ error: "A client with this id already exists", code: "CLIENT_EXISTS" }) : undefined

/** The registered clients. */
export const hydraClientsOn = ({ call, send }: Hydra) => {
  const clients: Port["clients"] = ({ pageSize, pageToken }) => {
    if (pageToken !== undefined && !isId(pageToken)) return Effect.fail(badPage)
    const query = { page_size: String(pageSize), ...(pageToken === undefined ? {} : { page_token: pageToken }) }
    const found = call({ method: "GET", path: clientsPath, query }, readClients, ({ error, status }) =>
      status === 400 && error !== "" && pageToken !== undefined ? badPage : undefined
    )
    return Effect.map(found, ({ next, value }) => ({ clients: value, next }))
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
    knownClient(id, (path) => send({ method: "DELETE", path }, noSuchClient))

  return { clients, client, createClient, removeClient }
}
