import {
  createClient,
  type RealtimeChannel,
  type RealtimeChannelOptions,
  type SupabaseClient
} from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { WebSocket } from "ws"
import { webSocketOptions } from "../../../src/layers/net/WebSockets.ts"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const ann = "11111111-1111-4111-8111-111111111111"
const bob = "22222222-2222-4222-8222-222222222222"

let service: InProcessService
const clients: Array<SupabaseClient> = []

/** A JWT of the service's own secret; `seconds` until it expires. */
const token = (sub: string, seconds = 60, key = service.jwtSecret) =>
  hs256(JSON.stringify({ exp: Math.floor(Date.now() / 1000) + seconds, sub, role: "authenticated" }), undefined, key)

const client = async (key: string, accessToken?: string, vsn = "2.0.0", url = service.url) => {
  const made = createClient(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: WebSocket as never, vsn },
    ...(accessToken === undefined ? {} : { accessToken: () => Promise.resolve(accessToken) })
  })
  clients.push(made)
  // Else the first channel is joined without the token.
  await made.realtime.setAuth()
  return made
}

/** Waits for a value that another callback provides. */
const until = async <A>(get: () => A | undefined | false, what: string, millis = 8_000): Promise<A> => {
  const end = Date.now() + millis
  for (;;) {
    const value = get()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`Timed out waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** JSON of any form. */
type Json = ReturnType<typeof JSON.parse>

interface Joined {
  readonly channel: RealtimeChannel
  readonly heard: Array<Json>
  readonly system: Array<Json>
  readonly states: Array<string>
  readonly errors: Array<string>
}

type Setup = (channel: RealtimeChannel, heard: Array<Json>) => unknown
const onMessage: Setup = (channel, heard) =>
  channel.on("broadcast", { event: "*" }, (message) => heard.push(message as Json))

/** Joins a channel; `state` is the state that it must reach. */
const join = async (
  by: SupabaseClient,
  name: string,
  setup: Setup = onMessage,
  config: RealtimeChannelOptions["config"] = {},
  state = "SUBSCRIBED"
): Promise<Joined> => {
  const channel = by.channel(name, { config })
  const joined: Joined = { channel, heard: [], system: [], states: [], errors: [] }
  setup(channel, joined.heard)
  channel.on("system", {}, (message: Json) => joined.system.push(message))
  channel.subscribe((state, error) => {
    joined.states.push(state)
    if (error !== undefined) joined.errors.push(error.message)
  })
  await until(() => joined.states.includes(state), `${name} to be ${state}`)
  return joined
}

const onChanges =
  (filter: { event?: string; schema?: string; table?: string; filter?: string; select?: Array<string> } = {}): Setup =>
  (channel, heard) =>
    channel.on("postgres_changes", { event: "*", schema: "public", ...filter } as never, (change: Json) =>
      heard.push(change)
    )

/** Joins, and waits until changes are sent. */
const follow = async (by: SupabaseClient, name: string, filter?: Parameters<typeof onChanges>[0]) => {
  const joined = await join(by, name, onChanges(filter))
  await until(() => joined.system.some(({ extension }) => extension === "postgres_changes"), "the subscription")
  return joined
}

beforeAll(async () => {
  service = await serveInProcess({ SVC_SUPABASE: "true" })
  for (const text of [
    "create table todos (id int primary key, owner uuid, title text, rank numeric, secret text, at timestamptz)",
    "alter table todos enable row level security",
    "create policy own on todos to authenticated using (owner = (select auth.uid()))",
    "create table notes (id bigint primary key, body text, size numeric, hidden text, state char(5))",
    "create table loose (body text)",
    "create table unpublished (id int primary key)",
    "grant select on todos, loose, unpublished to anon, authenticated",
    "revoke all on notes from anon, authenticated",
    "grant select (id, body, size, state) on notes to anon, authenticated",
    "alter publication supabase_realtime add table todos, notes, loose",
    `create policy "read rooms" on realtime.messages for select to authenticated using (realtime.topic() = 'team' or (realtime.topic() = 'quiet' and extension = 'broadcast'))`,
    `create policy "write rooms" on realtime.messages for insert to authenticated with check (realtime.topic() = 'team' and auth.uid() = '${ann}')`
  ]) {
    await sql(service, text)
  }
})
afterAll(async () => {
  await Promise.all(clients.map((one) => one.removeAllChannels()))
  await service[Symbol.asyncDispose]()
})

/** One frame after the other, as a client without a library. */
const rawSocket = async (query = `apikey=${service.anon}&vsn=2.0.0`) => {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/realtime/v1/websocket?${query}`)
  const frames: Array<Json> = []
  let closed: number | undefined
  socket.on("message", (data) => frames.push(JSON.parse(String(data))))
  socket.on("close", (code) => (closed = code))
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
  return { socket, frames, closed: () => closed, send: (frame: unknown) => socket.send(JSON.stringify(frame)) }
}

describe("the socket", () => {
  it("requires a key, and speaks both versions of the protocol", async () => {
    assert.strictEqual((await ask(service, "GET /realtime/v1/websocket", {})).status, 401)
    assert.strictEqual((await ask(service, "GET /realtime/v1/websocket?apikey=svc_pk_wrong", {})).status, 401)
    assert.strictEqual((await ask(service, `GET /realtime/v1/websocket?apikey=${service.anon}&vsn=3`, {})).status, 400)
    assert.strictEqual((await ask(service, `GET /realtime/v1/websocket?apikey=${service.anon}`, {})).status, 426)
    const old = await rawSocket(`apikey=${service.anon}`)
    old.send({ topic: "phoenix", event: "heartbeat", payload: {}, ref: "1" })
    await until(() => old.frames.length === 1, "the heartbeat")
    assert.deepStrictEqual(old.frames[0], {
      topic: "phoenix",
      event: "phx_reply",
      payload: { status: "ok", response: {} },
      ref: "1",
      join_ref: null
    })
    const now = await rawSocket()
    now.send([null, "7", "phoenix", "heartbeat", {}])
    now.send(["1", "8", "realtime:nowhere", "broadcast", { event: "x" }])
    now.send(["1", "9", "realtime:", "phx_join", {}])
    now.send(["1", "10", "realtime:a", "phx_join", { config: { broadcast: 1 } }])
    now.send(["1", "11", "realtime:a", "phx_join", { config: { broadcast: { replay: { since: 1 } } } }])
    await until(() => now.frames.length === 5, "the replies")
    const reasons = now.frames.slice(1).map(([, , , , { response }]: Json) => response.reason)
    assert.deepStrictEqual(now.frames[0], [null, "7", "phoenix", "phx_reply", { status: "ok", response: {} }])
    assert.deepStrictEqual(reasons, [
      "unmatched topic",
      "TopicNameRequired: You must provide a topic name",
      "InvalidJoinPayload: The payload of phx_join is invalid",
      "UnableToReplayMessages: Replay is not allowed for public channels"
    ])
    // What is no message does no harm.
    for (const bad of ["", "{", "[]", `${"[".repeat(199)}`, Buffer.from([3, 255]), Buffer.from([0, 1, 2])])
      now.socket.send(bad)
    now.send([null, "12", "phoenix", "heartbeat", {}])
    await until(() => now.frames.length === 6, "the heartbeat")
    for (const { socket } of [old, now]) socket.close()
  })

  it("a second join of a topic closes the first, and leaving ends it", async () => {
    const { frames, send, socket } = await rawSocket()
    send(["1", "1", "realtime:twice", "phx_join", {}])
    send(["2", "2", "realtime:twice", "phx_join", {}])
    send(["2", "3", "realtime:twice", "phx_leave", {}])
    await until(() => frames.length === 5, "five frames")
    assert.deepStrictEqual(
      frames.map(([joinRef, , , event]: Json) => [joinRef, event]),
      [
        ["1", "phx_reply"],
        ["1", "phx_close"],
        ["2", "phx_reply"],
        ["2", "phx_reply"],
        ["2", "phx_close"]
      ]
    )
    socket.close()
  })

  it("bounds channels, the size of messages and their number", async () => {
    const many = await rawSocket()
    for (let n = 0; n < 101; n++) many.send([String(n), String(n), `realtime:${n}`, "phx_join", {}])
    await until(() => many.frames.length === 101, "101 replies")
    const last = many.frames.at(-1)?.[4]
    assert.match(last?.response.reason ?? "", /^ChannelRateLimitReached/)
    many.socket.send("x".repeat(300 * 1024))
    assert.strictEqual(await until(many.closed, "the end"), 1009)
    const flood = await rawSocket()
    for (let n = 0; n < 2_100; n++) flood.socket.send("[]")
    assert.strictEqual(await until(flood.closed, "the end"), 1008)
  })

  it("bounds the JSON of messages, and not their bytes", async () => {
    const deep = `{"a":${"[".repeat(300)}${"]".repeat(300)}}`
    const keys = `{${Array.from({ length: 20_001 }, (_, n) => `"${n}":1`).join(",")}}`
    const topic = Buffer.from("realtime:shape")
    /** A binary broadcast; `encoding` 1 is JSON. */
    const pushed = (encoding: number, body: string) =>
      Buffer.concat([Buffer.from([3, 0, 0, topic.length, 1, 0, encoding]), topic, Buffer.from(`e${body}`)])
    const open = async () => {
      const made = await rawSocket()
      const why = new Promise<string>((ended) => made.socket.once("close", (_, reason) => ended(String(reason))))
      made.send(["1", "1", "realtime:shape", "phx_join", {}])
      await until(() => made.frames.length > 0, "the join")
      return { ...made, why }
    }
    for (const [frame, what] of [
      [`["1","2","realtime:shape","broadcast",${deep}]`, "200 levels"],
      [`["1","2","realtime:shape","broadcast",${keys}]`, "20000 keys"],
      ["[".repeat(50_000), "200 levels"],
      [pushed(1, deep), "200 levels"],
      [pushed(1, keys), "20000 keys"]
    ] as const) {
      const { closed, socket, why } = await open()
      socket.send(frame)
      assert.include(await why, `more than ${what}`)
      assert.strictEqual(closed(), 1008)
    }
    const { closed, frames, send, socket } = await open()
    socket.send(pushed(0, deep))
    send([null, "9", "phoenix", "heartbeat", {}])
    await until(() => frames.some(([, ref]: Json) => ref === "9"), "the heartbeat")
    assert.isUndefined(closed())
    socket.close()
  })

  it("ends a connection that does not read, and no other", async () => {
    const [slow, fast] = [await rawSocket(), await rawSocket()]
    for (const { send } of [slow, fast]) send(["1", "1", "realtime:flood", "phx_join", {}])
    await until(() => slow.frames.length + fast.frames.length === 2, "the joins")
    slow.socket.pause()
    const closing = vi.spyOn(webSocketOptions.WebSocket.prototype, "close")
    // The server waits two seconds for the client to read up to the end, so the client reads on from that moment.
    const given = until(() => closing.mock.calls.some(([code]) => code === 1013), "the server to give up").finally(
      () => {
        closing.mockRestore()
        slow.socket.resume()
      }
    )
    const message = { topic: "flood", event: "x", payload: "y".repeat(200_000) }
    for (let n = 0; n < 24; n++) {
      await ask(service, "POST /realtime/v1/api/broadcast", {
        key: service.anon,
        body: { messages: Array.from({ length: 5 }, () => message) }
      })
    }
    await given
    await until(() => fast.frames.length === 121, "all messages")
    assert.strictEqual(await until(slow.closed, "the end"), 1013)
    assert.isBelow(slow.frames.length, 121)
    fast.socket.close()
  })

  it("forged and expired tokens join nothing; one that expires ends its channels, unless it is renewed", async () => {
    const forged = await client(service.anon, token(ann, 60, "x".repeat(40)))
    assert.match((await join(forged, "a", onMessage, {}, "CHANNEL_ERROR")).errors[0] ?? "", /JwtSignatureError/)
    const old = await client(service.anon, token(ann, -60))
    assert.match((await join(old, "a", onMessage, {}, "CHANNEL_ERROR")).errors[0] ?? "", /InvalidJWTToken/)

    // Tokens have 30 s of leeway.
    const { frames, send, socket } = await rawSocket()
    for (const [ref, seconds] of [
      ["1", -28],
      ["2", -28]
    ] as const) {
      send([ref, ref, `realtime:ends${ref}`, "phx_join", { access_token: token(ann, seconds) }])
    }
    send(["2", "3", "realtime:ends2", "access_token", { access_token: token(ann) }])
    await until(() => frames.some(([, , , event]: Json) => event === "phx_close"), "the end")
    const system = frames.find(([, , , event]: Json) => event === "system")
    assert.strictEqual(system[2], "realtime:ends1")
    assert.strictEqual(system[4].status, "error")
    send(["2", "4", "realtime:ends2", "access_token", { access_token: token(bob, 60, "x".repeat(40)) }])
    await until(() => frames.filter(([, , , event]: Json) => event === "phx_close").length === 2, "both ends")
    socket.close()
  })
})

describe("broadcasts", () => {
  it("reach the others, oneself only on request, in both versions, with bytes in the newer", async () => {
    const [a, b, c] = [
      await client(service.anon),
      await client(service.anon),
      await client(service.anon, undefined, "1.0.0")
    ]
    const first = await join(a, "room", onMessage, { broadcast: { self: true, ack: true } })
    const second = await join(b, "room")
    const third = await join(c, "room")
    assert.strictEqual(await first.channel.send({ type: "broadcast", event: "hi", payload: { text: "Grüße" } }), "ok")
    for (const { heard } of [first, second, third]) {
      await until(() => heard.length === 1, "the message")
      assert.deepStrictEqual(heard[0], { type: "broadcast", event: "hi", payload: { text: "Grüße" } })
    }
    await third.channel.send({ type: "broadcast", event: "old", payload: { n: 1 } })
    await until(() => first.heard.length === 2 && second.heard.length === 2, "the message of the older version")
    await second.channel.send({ type: "broadcast", event: "bytes", payload: new Uint8Array([1, 2, 3]).buffer as never })
    const { payload } = await until(() => first.heard[2], "the bytes")
    assert.deepStrictEqual([...new Uint8Array(payload as never)], [1, 2, 3])
    assert.strictEqual(third.heard.length, 1, "its own messages and bytes are not sent to it")
    await second.channel.unsubscribe()
    await first.channel.send({ type: "broadcast", event: "later", payload: {} })
    await until(() => third.heard.length === 2, "the last message")
    assert.strictEqual(second.heard.length, 2)
  })

  it("by HTTP, one and several", async () => {
    const { channel, heard } = await join(await client(service.anon), "news %:1")
    const sender = await client(service.anon)
    const quiet = sender.channel("news %:1")
    assert.deepStrictEqual(await quiet.httpSend("one", { n: 1 }), { success: true })
    assert.deepStrictEqual(await quiet.httpSend("bytes", new Uint8Array([9]).buffer), { success: true })
    const several = (body: unknown) => ask(service, "POST /realtime/v1/api/broadcast", { key: service.anon, body })
    const sent = await several({ messages: [{ topic: "news %:1", event: "two", payload: { n: 2 } }] })
    assert.strictEqual(sent.status, 202)
    await until(() => heard.length === 3, "three messages")
    assert.deepStrictEqual(
      heard.map(({ event }) => event),
      ["one", "bytes", "two"]
    )
    assert.strictEqual((await several({ messages: [{ topic: "x" }] })).status, 422)
    assert.strictEqual(
      (await several({ messages: [{ topic: "x", event: "y", payload: "z".repeat(300_000) }] })).status,
      413
    )
    const kept = "POST /realtime/v1/api/broadcast/x/events/y?persist=true"
    assert.strictEqual((await ask(service, kept, { key: service.anon, body: {} })).status, 422)
    const anyone = await ask(service, "POST /realtime/v1/api/broadcast", { body: { messages: [] } })
    assert.strictEqual(anyone.status, 401)
    const broken = await fetch(`${service.url}/realtime/v1/api/broadcast/%ff/events/x`, {
      method: "POST",
      body: "{}",
      headers: { apikey: service.anon }
    })
    assert.isBelow(broken.status, 500)
    await channel.unsubscribe()
  })
})

it("presence: who is there, who comes, changes and goes", async () => {
  const heard: Array<string> = []
  const onPresence: Setup = (channel) => {
    channel.on("presence", { event: "join" }, ({ key }) => heard.push(`${key} comes`))
    channel.on("presence", { event: "leave" }, ({ key, leftPresences: [one] }) =>
      heard.push(`${key} goes, ${one?.["name"]}`)
    )
  }
  const a = await join(await client(service.anon), "lobby", onPresence, { presence: { key: "ann" } })
  assert.strictEqual(await a.channel.track({ name: "Ann" }), "ok")
  await until(() => heard.includes("ann comes"), "oneself")
  const other = await client(service.anon)
  const b = await join(other, "lobby", onPresence, { presence: { key: "bob" } })
  await until(() => Object.keys(b.channel.presenceState()).length === 1, "the state")
  await b.channel.track({ name: "Bob" })
  await until(() => heard.includes("bob comes"), "the other")
  await b.channel.track({ name: "Robert" })
  await until(
    () =>
      Object.values(a.channel.presenceState())
        .flat()
        .some((one) => (one as { name?: string }).name === "Robert"),
    "the change"
  )
  assert.strictEqual(a.channel.presenceState()["bob"]?.length, 1)
  await other.realtime.disconnect()
  await until(() => a.channel.presenceState()["bob"] === undefined, "the end")
  await until(() => heard.includes("bob goes, Robert"), "the news of it")
})

describe("postgres_changes", () => {
  it("are sent to those who may read the row, and the key of what is deleted", async () => {
    const [asAnn, asBob, anon, admin] = [
      await follow(await client(service.anon, token(ann)), "rls", { table: "todos" }),
      await follow(await client(service.anon, token(bob)), "rls", { table: "todos" }),
      await follow(await client(service.anon), "rls", { table: "todos" }),
      await follow(await client(service.service_role), "rls", { table: "todos" })
    ]
    await sql(
      service,
      `insert into todos values (1, '${ann}', 'Ann''s', 12345678901234567890.5, 'x', '2026-01-02T03:04:05Z')`
    )
    await sql(service, `insert into todos values (2, '${bob}', 'Bob''s', 1, 'x', null)`)
    // Policies are asked about the row as it is then.
    await until(() => asAnn.heard.length === 1 && asBob.heard.length === 1, "the new rows")
    await sql(service, "update todos set title = 'changed' where id = 1")
    await until(() => asAnn.heard.length === 2, "the change")
    await sql(service, "delete from todos where id = 1")
    for (const { heard } of [asAnn, admin]) await until(() => heard.at(-1)?.eventType === "DELETE", "the deletion")
    assert.deepStrictEqual(
      asAnn.heard.map(({ eventType, new: row, old }) => [eventType, row.title, row.owner, old]),
      [
        ["INSERT", "Ann's", ann, {}],
        ["UPDATE", "changed", ann, { id: 1 }],
        ["DELETE", undefined, undefined, { id: 1 }]
      ]
    )
    assert.strictEqual(asAnn.heard[0].new.at, "2026-01-02T03:04:05+00:00")
    await until(() => asBob.heard.length === 2 && anon.heard.length === 1, "the others' events")
    assert.deepStrictEqual(
      asBob.heard.map(({ eventType, new: row }) => [eventType, row.title]),
      [
        ["INSERT", "Bob's"],
        ["DELETE", undefined]
      ]
    )
    assert.deepStrictEqual(
      anon.heard.map(({ eventType, old }) => [eventType, old]),
      [["DELETE", { id: 1 }]]
    )
    assert.deepStrictEqual(
      admin.heard.map(({ eventType }) => eventType),
      ["INSERT", "INSERT", "UPDATE", "DELETE"]
    )
  })

  it("have values only for those who may read the row with them", async () => {
    const asBob = await client(service.anon, token(bob))
    const all = await follow(asBob, "versions", { table: "todos" })
    const filtered = await follow(asBob, "versions by title", { table: "todos", filter: "title=eq.S3CRET" })
    await sql(
      service,
      `do $$ begin
         insert into todos values (60, '${ann}', 'S3CRET', 1, 'x', null);
         update todos set owner = '${bob}', title = 'given' where id = 60;
       end $$`
    )
    await until(() => all.heard.length === 2, "both changes")
    await sql(service, `insert into todos values (61, '${bob}', 'S3CRET', 1, 'x', null)`)
    await until(() => filtered.heard.length > 0 && all.heard.length === 3, "the row that passes the filter")
    assert.deepStrictEqual(
      all.heard.slice(0, 2).map(({ errors, eventType, new: row }) => [eventType, row.id, row.title, errors]),
      [
        ["INSERT", 60, undefined, ["Error 401: Unauthorized"]],
        ["UPDATE", 60, "given", null]
      ]
    )
    assert.deepStrictEqual(all.heard[0].new, { id: 60 })
    assert.deepStrictEqual(
      filtered.heard.map(({ new: row }) => row.id),
      [61]
    )
  })

  it("need no plan for each reader on account of the installed functions", () => {
    // Logged when the definitions were read, for the tests above.
    assert.notInclude(service.output(), "is declared IMMUTABLE")
  })

  it("pass filters of every type, and only readable columns", async () => {
    const anon = await client(service.anon)
    const filters = [
      "body=eq.a",
      "body=neq.a",
      "size=gt.9",
      "size=in.(10.0,11)",
      "id=in.(1,3)",
      "body=like.b%",
      "body=not.is.null,size=lte.2",
      "state=eq.x",
      "size=not.gt.9,id=not.eq.2",
      "body=match.^b",
      "body=imatch.^B|x$,size=gt.1",
      "size=not.match.^1"
    ]
    const joined: Array<Joined> = []
    for (const filter of filters) joined.push(await follow(anon, filter, { table: "notes", filter, event: "INSERT" }))
    const picked = await follow(anon, "picked", { table: "notes", select: ["size"] })
    await sql(
      service,
      "insert into notes values (1, 'a', 10, 'h', 'x'), (2, 'bc', 2, 'h', 'y'), (3, null, null, 'h', null), (4, 'B', 9, 'h', 'x')"
    )
    await until(() => picked.heard.length === 4, "all rows")
    assert.deepStrictEqual(picked.heard.map(({ new: row }) => row)[0], { id: 1, size: 10 })
    await follow(anon, "barrier", { table: "notes" })
    const ids = joined.map(({ heard }) => heard.map(({ new: row }) => row.id).sort())
    assert.deepStrictEqual(ids, [[1], [2, 4], [1], [1], [1, 3], [2], [2], [1, 4], [4], [2], [2, 4], [2, 4]])
    assert.notProperty(joined[0]?.heard[0].new, "hidden")
    for (const [filter, message] of [
      ["hidden=eq.h", /invalid column/],
      ["nothing=eq.1", /invalid column/],
      ["id=eq.x", /invalid value/],
      ["id=fts.x", /not supported/],
      ["body=match.[a", /invalid regular expression/],
      ["body=match.(a{1,9}){1,9}", /no references/],
      ["body=imatch.(a)\\1", /no references/],
      ["id", /not of the form/]
    ] as const) {
      const { system } = await follow(anon, `bad ${filter}`, { table: "notes", filter })
      assert.strictEqual(system[0]?.status, "error")
      assert.match(system[0].message, message)
    }
  })

  it("are those of the publication, whole even if they are wide, and follow it", async () => {
    const anon = await client(service.anon)
    const none = await follow(anon, "none", { table: "unpublished" })
    assert.strictEqual(none.system[0]?.status, "error")
    const all = await follow(anon, "all", {})
    await sql(service, "insert into notes values (10, repeat('é', 20000), 1, 'h', null)")
    const { new: wide } = await until(() => all.heard[0], "the wide row")
    assert.strictEqual(wide.body?.length, 20_000)
    await sql(service, "insert into loose values ('x')")
    const { errors, new: row } = await until(() => all.heard[1], "the row without a key")
    assert.deepStrictEqual([errors, row], [["Error 400: Bad Request, no primary key"], {}])
    await sql(service, "alter publication supabase_realtime add table unpublished")
    const added = await follow(anon, "added", { table: "unpublished" })
    assert.strictEqual(added.system[0]?.status, "ok")
    await sql(service, "insert into unpublished values (1)")
    await until(() => added.heard.length === 1 && all.heard.length === 3, "the new table's row")
    await sql(service, "alter publication supabase_realtime drop table unpublished")
    await sql(service, "insert into unpublished values (2)")
    await sql(service, "insert into notes values (11, 'last', 1, 'h', null)")
    await until(() => all.heard.length === 4, "the last row")
    assert.strictEqual(added.heard.length, 1)
  })

  it("new grants and policies count at once", async () => {
    const anon = await follow(await client(service.anon), "grants", { table: "notes", event: "INSERT" })
    await sql(service, "revoke select (body) on notes from anon")
    await sql(service, "insert into notes values (20, 'x', 1, 'h', null)")
    const { new: row } = await until(() => anon.heard[0], "the row")
    assert.notProperty(row, "body")
    await sql(service, "grant select (body) on notes to anon")
  })
})

describe("private channels", () => {
  it("are for those whom policies on realtime.messages let read, and write", async () => {
    const hidden = { private: true, broadcast: { ack: true } }
    const [asAnn, asBob] = [await client(service.anon, token(ann)), await client(service.anon, token(bob))]
    const a = await join(asAnn, "team", onMessage, hidden)
    const b = await join(asBob, "team", onMessage, hidden)
    const open = await join(await client(service.anon), "team")
    const refused = await join(await client(service.anon), "team", onMessage, hidden, "CHANNEL_ERROR")
    assert.match(refused.errors[0] ?? "", /^Unauthorized: You do not have permissions to read/)
    await join(asBob, "other", onMessage, hidden, "CHANNEL_ERROR")
    assert.strictEqual(await b.channel.send({ type: "broadcast", event: "no", payload: {} }), "error")
    assert.strictEqual(await b.channel.track({}), "error")
    assert.strictEqual(await a.channel.send({ type: "broadcast", event: "yes", payload: {} }), "ok")
    await until(() => b.heard.length === 1, "the message")
    const byHttp = (await client(service.anon, token(bob))).channel("team", { config: { private: true } })
    const failed = await byHttp.httpSend("x", {}).catch((error: Error) => error.message)
    assert.match(String(failed), /permissions/)
    assert.deepStrictEqual([a.heard, open.heard], [[], []])
    const probes = await sql(service, "select count(*)::int as n from realtime.messages")
    assert.deepStrictEqual(probes, [{ n: 0 }])
  })

  it("hear what the database sends, and replay it", async () => {
    const asBob = await client(service.anon, token(bob))
    const b = await join(asBob, "team", onMessage, { private: true })
    await sql(service, "select realtime.send(jsonb_build_object('text', repeat('x', 10000)), 'made', 'team', true)")
    const message = await until(() => b.heard[0], "the message")
    assert.strictEqual(message.payload.text.length, 10_000)
    assert.isString(message.meta.id)
    await sql(service, "select realtime.send_binary('\\x00ff01'::bytea, 'raw', 'team', true)")
    const raw = await until(() => b.heard[1], "the bytes")
    assert.deepStrictEqual([raw.event, [...new Uint8Array(raw.payload)]], ["raw", [0, 255, 1]])
    await sql(service, "create table changed (id int primary key)")
    await sql(
      service,
      "create function tell() returns trigger language plpgsql as $$ begin perform realtime.broadcast_changes('team', tg_op, tg_op, tg_table_name, tg_table_schema, new, old); return null; end $$"
    )
    await sql(service, "create trigger tell after insert on changed for each row execute function tell()")
    await sql(service, "insert into changed values (5)")
    const { event, payload } = await until(() => b.heard[2], "the change")
    assert.deepStrictEqual([event, payload.record, payload.table], ["INSERT", { id: 5 }, "changed"])
    const later = await join(await client(service.anon, token(ann)), "team", onMessage, {
      private: true,
      broadcast: { replay: { since: Date.now() - 60_000, limit: 1 } }
    })
    const replayed = await until(() => later.heard[0], "the replay")
    assert.deepStrictEqual([replayed.event, replayed.meta.replayed], ["INSERT", true])
    assert.strictEqual(later.heard.length, 1)
  })
})

describe("messages that users send by the database", () => {
  it("are under policies that test the topic, and have ids", async () => {
    for (const text of [
      "create schema chat",
      "create table chat.members (room text, who uuid)",
      "grant usage on schema chat to authenticated",
      "grant select on chat.members to authenticated",
      `insert into chat.members values ('room:1', '${ann}')`,
      // Finds its table by the caller's search_path.
      "create function public.is_member(room text) returns boolean language plpgsql as $$ begin return exists (select from members m where m.room = is_member.room and m.who = auth.uid()); end $$",
      "create table said (room text)",
      "grant insert on said to authenticated",
      "create policy members on realtime.messages for insert to authenticated with check (realtime.topic() like 'room:%' and public.is_member(realtime.topic()))",
      "create policy read_rooms on realtime.messages for select to authenticated using (realtime.topic() like 'room:%')",
      `create function say() returns trigger language plpgsql set search_path = chat, public as $$ begin
         perform realtime.send(to_jsonb(new), 'said', new.room, true);
         perform realtime.send_binary('\\x01', 'raw', new.room, true);
         perform realtime.broadcast_changes(new.room, 'row', tg_op, tg_table_name, tg_table_schema, new, old);
         return null; end $$`,
      "create trigger say after insert on said for each row execute function say()"
    ]) {
      await sql(service, text)
    }
    const b = await join(await client(service.anon, token(bob)), "room:1", onMessage, { private: true })
    const say = (sub: string, room: string) =>
      ask(service, "POST /rest/v1/said", { key: service.anon, token: token(sub), body: { room } })
    assert.strictEqual((await say(ann, "room:1")).status, 201)
    assert.strictEqual((await say(ann, "room:2")).status, 201)
    assert.strictEqual((await say(bob, "room:1")).status, 201)
    await until(() => b.heard.length === 3, "the messages")
    const rows = await sql(
      service,
      `select topic, event, id::text = payload ->> 'id' as same, now() at time zone 'UTC' - inserted_at < interval '1 minute' as recent
       from realtime.messages where topic like 'room:%' order by event`
    )
    assert.deepStrictEqual(
      rows,
      ["raw", "row", "said"].map((event) => ({
        topic: "room:1",
        event,
        same: event === "raw" ? null : true,
        recent: true
      }))
    )
    const said = b.heard.find(({ event }) => event === "said")
    assert.strictEqual(said.payload.id, said.meta.id)
    const own = await sql(
      service,
      `select realtime.send('{"id": "mine"}', 'own', 'room:1'), realtime.send('[1]', 'list', 'room:1')`
    )
    assert.strictEqual(own.length, 1)
    assert.deepStrictEqual(
      await sql(service, "select payload from realtime.messages where event in ('own', 'list') order by event"),
      [{ payload: [1] }, { payload: { id: "mine" } }]
    )
    await Promise.all(
      ["TRUNCATE", null].map(async (operation) => {
        const text = "select realtime.broadcast_changes('room:1', 'x', $1, 'said', 'public', null::said, null::said)"
        const refused = await ask(service, "POST /v1/sql", {
          key: service.service_role,
          body: { sql: text, params: [operation] }
        })
        assert.match(refused.text, /the operation must be INSERT, UPDATE or DELETE/)
      })
    )
  })

  it("are announced to clients that ask whether they arrive", async () => {
    const joined = await join(await client(service.anon), "ready", onMessage, {
      broadcast: { replication_ready: true } as object
    })
    const message = await until(() => joined.system[0], "the system message")
    assert.deepInclude(message, {
      extension: "system",
      status: "ok",
      message: "Replication connection established",
      channel: "ready"
    })
    const silent = await join(await client(service.anon), "silent")
    const texts = await rawSocket()
    // Booleans may be texts, of which others are refused.
    texts.send([
      "1",
      "1",
      "realtime:texts",
      "phx_join",
      { config: { broadcast: { replication_ready: "True", self: "false" } } }
    ])
    texts.send(["2", "2", "realtime:wrong", "phx_join", { config: { broadcast: { self: "yes" } } }])
    await until(() => texts.frames.length === 3, "the answers")
    assert.deepStrictEqual(
      texts.frames.map(([, , topic, event, { status }]: Json) => [topic, event, status]),
      [
        ["realtime:texts", "phx_reply", "ok"],
        ["realtime:texts", "system", "ok"],
        ["realtime:wrong", "phx_reply", "error"]
      ]
    )
    assert.deepStrictEqual(silent.system, [])
    texts.socket.close()
  })
})

it("a connection ends with its key", async () => {
  const made = await ask(service, "POST /api/keys", {
    key: service.service_role,
    body: { keyType: "anon", label: "short" }
  })
  assert.strictEqual(made.status, 201, made.text)
  const { key, secret } = made.json as Json
  const { closed } = await rawSocket(`apikey=${secret}`)
  await ask(service, `DELETE /api/keys/${key.id}`, { key: service.service_role })
  assert.strictEqual(await until(closed, "the end"), 1008)
})

it("joins again what may have missed changes", async () => {
  const { channel, heard, states } = await follow(await client(service.anon), "lost", { table: "notes" })
  await sql(
    service,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc listener' and datname = current_database()"
  )
  await until(() => states.filter((state) => state === "SUBSCRIBED").length === 2, "the second subscription")
  await sql(service, "insert into notes values (30, 'again', 1, 'h', null)")
  await until(() => heard.length > 0, "the row")
  await channel.unsubscribe()
})

it("callers can't evaluate policies as others", async () => {
  for (const role of ["anon", "authenticated", "service_role"]) {
    for (const call of ["svc_channel_rights('anon', '{}', '', 'x')", "svc_channel_probe('x', 'broadcast')"]) {
      const reply = await ask(service, "POST /v1/sql/transaction", {
        key: service.service_role,
        body: { statements: [{ sql: `set local role ${role}` }, { sql: `select realtime.${call}` }] }
      })
      assert.strictEqual((reply.json as Json).code, "42501", reply.text)
    }
  }
})

describe("two services on one database", () => {
  let second: InProcessService
  beforeAll(async () => {
    second = await serveInProcess(
      { SVC_SUPABASE: "true", SVC_JWT_SECRET: service.jwtSecret },
      () => service.databaseUrl
    )
  })

  it("are one to their clients, until one of them ends", async () => {
    const here = await client(service.anon)
    const there = await client(service.anon, undefined, "2.0.0", second.url)
    const a = await join(here, "both", onMessage, { presence: { key: "a", enabled: true } })
    const b = await join(there, "both", onMessage, { presence: { key: "b", enabled: true } })
    await a.channel.track({ n: 1 })
    await b.channel.track({ n: 2 })
    for (const { channel } of [a, b]) {
      await until(() => Object.keys(channel.presenceState()).length === 2, "both to be present")
    }
    const large = "é".repeat(60_000)
    await a.channel.send({ type: "broadcast", event: "small", payload: { n: 1 } })
    await a.channel.send({ type: "broadcast", event: "large", payload: { large } })
    await a.channel.send({ type: "broadcast", event: "bytes", payload: new Uint8Array([1, 2]).buffer as never })
    await until(() => b.heard.length === 3, "three messages")
    assert.deepStrictEqual(
      b.heard.map(({ event }) => event),
      ["small", "large", "bytes"]
    )
    assert.strictEqual(b.heard[1].payload.large, large)
    const asAnn = await follow(await client(service.anon, token(ann), "2.0.0", second.url), "there", { table: "todos" })
    const asBob = await follow(await client(service.anon, token(bob), "2.0.0", second.url), "there", { table: "todos" })
    await sql(service, `insert into todos (id, owner) values (50, '${ann}')`)
    await sql(service, `insert into todos (id, owner) values (51, '${bob}')`)
    await until(() => asAnn.heard.length === 1 && asBob.heard.length === 1, "the rows")
    assert.deepStrictEqual([asAnn.heard[0].new.id, asBob.heard[0].new.id], [50, 51])
    await second[Symbol.asyncDispose]()
    await until(() => Object.keys(a.channel.presenceState()).join() === "a", "the other to be gone")
  })
})
