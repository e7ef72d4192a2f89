import { hash } from "node:crypto"
import { quoteLiteral, quoteName } from "../sql/Names.ts"

/** The longest name that PostgreSQL does not truncate, in bytes. */
const maxName = 63

const encoder = new TextEncoder()

/**
 * The name of a table's trigger and channel: `svc_rt_{schema}_{table}`, with a hash in place of the end if that is too
 * long. Two tables may share a channel (`a`.`b_c` and `a_b`.`c`), so the payload names its table.
 */
export const channelOf = (schema: string, table: string) => {
  const name = `svc_rt_${schema}_${table}`
  if (encoder.encode(name).length <= maxName) return name
  const tail = `_${hash("sha256", `${schema}\0${table}`, "hex").slice(0, 16)}`
  let kept = ""
  let room = maxName - tail.length
  for (const character of name) {
    room -= encoder.encode(character).length
    if (room < 0) break
    kept += character
  }
  return kept + tail
}

/** The arguments are those of svc.notify_row_change, which a migration creates. */
export const createTriggerSql = (schema: string, table: string, channel: string, oid: number, virtual: boolean) => {
  const given = [channel, String(oid), ...(virtual ? ["virtual"] : [])].map(quoteLiteral).join(", ")
  return `create or replace trigger ${quoteName(channel)}
    after insert or update or delete on ${quoteName(schema)}.${quoteName(table)}
    for each row execute function svc.notify_row_change(${given})`
}

export const dropTriggerSql = (schema: string, table: string, trigger: string) =>
  `drop trigger if exists ${quoteName(trigger)} on ${quoteName(schema)}.${quoteName(table)}`
