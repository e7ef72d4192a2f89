import { CreateBucketCommand, PutBucketPolicyCommand, PutObjectCommand } from "@aws-sdk/client-s3"
import { afterAll, assert, beforeAll, it } from "vitest"
import { call, md5, type S3, startS3 } from "../../support/storage/s3.ts"

const Bucket = "bulk"
let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket }))
})
afterAll(() => s3.stop())

/** The longest turn of this thread's event loop until the promise resolves, and all of them, in ms of processor time. */
const measureTurns = async <A>(promise: Promise<A>) => {
  let [longest, whole] = [0, 0]
  let last = process.threadCpuUsage()
  let done = false
  const look = () => {
    const { system, user } = process.threadCpuUsage(last)
    const turn = (system + user) / 1000
    longest = Math.max(longest, turn)
    whole += turn
    last = process.threadCpuUsage()
    if (!done) setImmediate(look)
  }
  setImmediate(look)
  try {
    return { answer: await promise, longest, whole }
  } finally {
    done = true
  }
}

const names = Array.from({ length: 1000 }, (_, n) => `${"long/".repeat(30)}${n}`)
const document = (extra = "") =>
  `<Delete>${names.map((name) => `<Object><Key>${name}</Key>${extra}</Object>`).join("")}</Delete>`
const remove = (body: string) => call(s3, { method: "POST", path: `/${Bucket}`, query: { delete: "" }, body })

it.each([
  ["plain", "", ""],
  ["each with its condition", `<ETag>"${md5("x")}"</ETag>`, ""],
  ["under a long policy", "", "x"]
])("a thousand keys are deleted by one request: %s", async (_name, extra, policy) => {
  if (policy !== "") {
    const Statement = Array.from({ length: 90 }, (_, n) => ({
      Effect: "Deny",
      Principal: "*",
      Action: "s3:DeleteObject",
      Resource: `arn:aws:s3:::${Bucket}/*${"*a".repeat(8)}${n}*`
    }))
    const Policy = JSON.stringify({ Version: "2012-10-17", Statement })
    await s3.client.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  }
  let smallestShare = 1
  for (let round = 0; round < 3; round++) {
    await Promise.all(names.slice(0, 20).map((Key) => s3.client.send(new PutObjectCommand({ Bucket, Key, Body: "x" }))))
    const { answer, longest, whole } = await measureTurns(remove(document(extra)))
    assert.strictEqual(answer.status, 200, answer.text.slice(0, 300))
    const deleted = answer.text.split("<Deleted>").length - 1
    assert.strictEqual(deleted, extra === "" ? 1000 : 20)
    smallestShare = Math.min(smallestShare, longest / whole)
  }
  // Comparing each key with each pattern is most of the work, and other requests get a turn in between.
  if (policy !== "") assert.isBelow(smallestShare, 1 / 4)
})
