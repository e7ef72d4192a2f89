import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type ClientError, InvalidRequest } from "../../domain/errors.ts"
import {
  Acknowledging,
  Extending,
  QueueName,
  queueNotFound,
  received,
  Receiving,
  Sending
} from "../../domain/queues/Queue.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { type Actor, type Database, Db, serviceActor } from "../../services/ports/Db.ts"
import { QueueMessages } from "../../services/queues/Messages.ts"
import { Queues } from "../../services/queues/Queues.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { Api } from "../Api.ts"
import { ClientQueuesApi } from "../api/Queues.ts"
import { bodyLimit, jsonAnswer, jsonBody, success } from "../wire/Body.ts"
import { databaseOf } from "../wire/BranchHeader.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { issueLines } from "../wire/RequestErrors.ts"

export const QueuesHandlers = HttpApiBuilder.group(
  Api,
  "queues",
  Effect.fn(function* (handlers) {
    const queues = yield* Queues
    const messages = yield* QueueMessages
    const { main } = yield* Db
    return handlers.handleAll({
      list: () => queues.list,
      create: ({ payload }) => queues.create(payload),
      find: ({ params }) => queues.find(params.queue),
      update: ({ params, payload }) => queues.update(params.queue, payload),
      remove: ({ params }) => Effect.as(queues.remove(params.queue), success),
      purge: ({ params }) => Effect.map(queues.purge(params.queue), (count) => ({ count })),
      // JSON text from PostgreSQL, because numbers may exceed JavaScript's precision.
      messages: ({ params, query: { before, limit = 50, place = "queue" } }) =>
        Effect.map(
          queues.messages(params.queue, { place, limit, ...(before === undefined ? {} : { before }) }),
          (text) => jsonAnswer(text)
        ),
      putBack: ({ params, payload }) =>
        Effect.map(queues.putBack(params.queue, payload.msg_ids), (count) => ({ count })),
      send: ({ params, request }) =>
        Effect.gen(function* () {
          const text = yield* Effect.orDie(request.text)
          const sent = messages.send(main, serviceActor, params.queue, text)
          return jsonAnswer(yield* Effect.catchTag(sent, "DatabaseError", refusedMessage), { status: 201 })
        })
    })
  })
)

/** What PostgreSQL refuses of a message, such as U+0000, or a policy. */
const refusedMessage = ({ code, error }: { readonly code: string; readonly error: string }) =>
  Effect.fail(new InvalidRequest({ error: `The message was refused: ${error}`, hint: `SQLSTATE ${code}` }))

/** Fields that a message has when it is received are ignored, all other unknown ones refused. */
const decoded =
  <S extends Schema.Constraint>(schema: S, onExcessProperty: "error" | "ignore") =>
  (value: unknown) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(schema, { errors: "all", onExcessProperty })(value),
      (error) => new InvalidRequest({ error: "Invalid payload", details: issueLines(error.issue) })
    )

/** Routes of `/v1/queues`, outside HttpApi: PostgreSQL's JSON is sent unchanged. */
export const QueuesRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const messages = yield* QueueMessages
    const db = yield* Db
    const branches = yield* Branches

    const route = <A>(
      decode: (value: unknown) => Effect.Effect<A, InvalidRequest, never>,
      run: (
        database: Database,
        actor: Actor,
        queue: QueueName,
        payload: A,
        text: string
      ) => Effect.Effect<string, ClientError>,
      status = 200
    ) =>
      Effect.gen(function* () {
        const { caller } = yield* CurrentRequest
        if (caller === undefined) return yield* noGate
        const { queue = "" } = yield* HttpRouter.params
        if (!Schema.is(QueueName)(queue)) return yield* queueNotFound(queue)
        const incoming = yield* HttpServerRequest.HttpServerRequest
        const database = yield* databaseOf(incoming.headers, caller.actor, db.main, branches)
        const { text, value } = yield* jsonBody(incoming, bodyLimit)
        const payload = yield* decode(value)
        return jsonAnswer(yield* run(database, caller.actor, queue, payload, text), { status })
      })

    yield* addRoutes(router, ClientQueuesApi, {
      send: route(
        decoded(Sending, "error"),
        (database, actor, queue, _, text) => messages.send(database, actor, queue, text),
        201
      ),
      receive: route(decoded(Receiving, "error"), (database, actor, queue, payload) =>
        messages.receive(database, actor, queue, received(payload))
      ),
      ack: route(decoded(Acknowledging, "ignore"), messages.acknowledge),
      extend: route(decoded(Extending, "ignore"), messages.extend)
    })
  })
)
