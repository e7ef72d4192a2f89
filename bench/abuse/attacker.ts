/** The abusive client. See support/remote.ts. */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"
import { serve } from "../support/remote.ts"
import { AnswerCount, type Answers } from "./answers.ts"
import { Client } from "./client.ts"
import { type Fuzz, type FuzzAnswers, fuzz } from "./fuzz.ts"
import { type Target } from "./pattern.ts"
import { patternOf } from "./patterns/all.ts"

interface Attack {
  readonly pattern: string
  readonly target: Target
  readonly seconds: number
  readonly sockets: number
}

const stopped = new AbortController()

/** Attacks until the time is over or `stop` is called. Its connections stay open until then. */
const attack = async ({ pattern, seconds, sockets, target }: Attack): Promise<Answers> => {
  const { attack, server = "api", sockets: socketsOf = (usual) => usual } = patternOf(pattern)
  const counted = new AnswerCount()
  const over = new AbortController()
  const address = { port: target.ports[server], localAddress: "127.0.0.1" }
  const clients = Array.from(
    { length: socketsOf(sockets) },
    (_, index) =>
      new Client(index, address, (outcome) => {
        if (!over.signal.aborted) counted.record(server, outcome)
      })
  )
  const turn = attack(target)
  let n = 0
  const loop = async (client: Client) => {
    while (!over.signal.aborted) {
      await turn(client, n++)
      // A turn that needs no answer must not keep the others from theirs.
      await nextTurn()
    }
  }
  for (const client of clients)
    void loop(client).catch((error: unknown) => counted.blame("pattern", `The pattern failed: ${error}`))
  await sleep(seconds * 1000, undefined, { signal: stopped.signal }).catch(() => undefined)
  over.abort()
  counted.count(
    "open",
    clients.reduce((total, { outstanding }) => total + outstanding, 0)
  )
  for (const client of clients) client.close()
  return counted.answers
}

const stop = () => stopped.abort()

const calls = {
  attack,
  fuzz: (options: Fuzz): Promise<FuzzAnswers> => fuzz(options, stopped.signal),
  stop
}
export type Attacker = typeof calls

if (import.meta.main) serve(calls)
