import { assert, describe, it } from "vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { createServer, type Server, type Socket } from "node:net"
import { type AddressInfo } from "node:net"
import { Mails } from "../../../src/services/identity/Mails.ts"
import { layerEmbedded, ownUrl } from "../../support/identity/embedded.ts"
import { until } from "../../support/service.ts"

interface Received {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly data: string
}

/** A mail server that speaks as much SMTP (RFC 5321) as a sender needs. `refusals`: its answers to the first RCPTs. */
const smtpServer = async (refusals: Array<string> = []) => {
  const received: Array<Received> = []
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    let rest = ""
    let mail = { from: "", to: [] as Array<string>, data: "" }
    let inData = false
    const say = (line: string) => socket.write(`${line}\r\n`)
    say("220 mail.example")
    socket.on("error", () => undefined)
    socket.setEncoding("utf8").on("data", (text) => {
      rest += String(text)
      for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
        const line = rest.slice(0, end)
        rest = rest.slice(end + 2)
        if (inData) {
          if (line !== ".") mail.data += `${line}\n`
          else {
            inData = false
            received.push(mail)
            mail = { from: "", to: [], data: "" }
            say("250 accepted")
          }
        } else if (/^(EHLO|HELO)/.test(line)) say("250 mail.example")
        else if (line.startsWith("MAIL FROM:")) {
          mail.from = line
          say("250 ok")
        } else if (line.startsWith("RCPT TO:")) {
          const refused = refusals.shift()
          if (refused === undefined) mail.to.push(line.slice("RCPT TO:".length))
          say(refused ?? "250 ok")
        } else if (line === "DATA") {
          inData = true
          say("354 go on")
        } else say(line === "QUIT" ? "221 bye" : "250 ok")
      }
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }
}

const withDelivery = async (
  name: string,
  smtp: Awaited<ReturnType<typeof smtpServer>>,
  use: (run: <A, E>(effect: Effect.Effect<A, E, Mails>) => Promise<A>) => Promise<void>
) => {
  const scope = Scope.makeUnsafe()
  try {
    const settings = { SMTP_URL: smtp.url, MAIL_FROM: "service@example.com", MAIL_REPLY_TO: "help@example.com" }
    const context = await Effect.runPromise(Layer.buildWithScope(layerEmbedded(name, settings), scope))
    await use((effect) => Effect.runPromise(Effect.provideContext(effect, context)))
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    smtp.close()
  }
}

const send = (to: string, subject = "Hello", body = "Text – with a dash\n.\nand a dot") =>
  Effect.flatMap(Mails, (mails) =>
    mails.send(to, subject, body, null, { email_action_type: "signup", site_url: ownUrl })
  )
const list = Effect.flatMap(Mails, (mails) => mails.list({ before: undefined, recipient: undefined }))

describe("e-mails", () => {
  it("are delivered once each, to exactly one recipient", async () => {
    const smtp = await smtpServer()
    await withDelivery("mails", smtp, async (run) => {
      for (const to of ["ann@example.com", "bob@example.com"]) await run(send(to, "Hello\r\nBcc: evil@example.com"))
      await run(send("ann@example.com, evil@example.com"))
      const done = await until(
        () => run(list),
        ({ mails }) =>
          mails.filter(({ sent_at }) => sent_at !== null).length === 2 && mails.some(({ failure }) => failure !== null)
      )
      assert.deepStrictEqual(smtp.received.map(({ to }) => to).toSorted(), [
        ["<ann@example.com>"],
        ["<bob@example.com>"]
      ])
      for (const { data, from } of smtp.received) {
        assert.include(from, "<service@example.com>")
        const [head = ""] = data.split("\n\n")
        assert.notMatch(head, /^Bcc:/im)
        assert.match(head, /^Reply-To: help@example\.com$/m)
      }
      const [bad] = done.mails
      assert.deepInclude(bad, { failure: "The recipient is not one address", sent_at: null })
    })
  })

  it("are tried again when the server refuses them", async () => {
    const smtp = await smtpServer(["451 try later"])
    await withDelivery("mails_retry", smtp, async (run) => {
      await run(send("ann@example.com"))
      const [refused] = (
        await until(
          () => run(list),
          ({ mails }) => mails[0]?.failure !== null
        )
      ).mails
      assert.match(refused?.failure ?? "", /451/)
      const again = await run(Effect.flatMap(Mails, (mails) => mails.resend(refused!.id)))
      assert.deepInclude(again, { attempts: 0, failure: null })
      await until(
        () => run(list),
        ({ mails }) => mails[0]?.sent_at !== null
      )
      assert.lengthOf(smtp.received, 1)
    })
  })
})
