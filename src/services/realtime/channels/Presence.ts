import { randomUUID } from "node:crypto"
import { type Member, roomKey, type RoomName, type Rooms, sendTo } from "./Rooms.ts"

/** Someone present in a channel: one of possibly several under a key. */
export interface Present {
  readonly key: string
  readonly ref: string
  /** The members of what the client has sent, as JSON text without braces, with a leading comma unless empty. */
  readonly meta: string
  /** The reference that this one replaces. */
  readonly before?: string | undefined
}

/** Members that have joined and left a channel. */
export interface PresenceChange extends RoomName {
  readonly joins: ReadonlyArray<Present>
  readonly leaves: ReadonlyArray<Present>
}

const metaText = ({ before, meta, ref }: Present) =>
  `{"phx_ref":${JSON.stringify(ref)}${before === undefined ? "" : `,"phx_ref_prev":${JSON.stringify(before)}`}${meta}}`

const grouped = (all: Iterable<Present>) => {
  const keys = Map.groupBy(all, ({ key }) => key)
  return `{${[...keys]
    .map(([key, metas]) => `${JSON.stringify(key)}:{"metas":[${metas.map(metaText).join(",")}]}`)
    .join(",")}}`
}

interface Room extends RoomName {
  /** Members by process, and then by reference. */
  readonly byProcess: Map<string, Map<string, Present>>
}

/**
 * The members present in every channel, in all processes of the service. Each process announces its own; those of a
 * process that has ended are dropped as a whole.
 */
export class Presence {
  private readonly rooms = new Map<string, Room>()
  private readonly own = new Map<Member, Present>()
  private readonly local: Rooms
  private readonly process: string
  private readonly announce: (change: PresenceChange) => void

  constructor(local: Rooms, process: string, announce: (change: PresenceChange) => void) {
    this.local = local
    this.process = process
    this.announce = announce
  }

  private *present(room: RoomName): Iterable<Present> {
    for (const all of this.rooms.get(roomKey(room))?.byProcess.values() ?? []) yield* all.values()
  }

  /** Sends a member all who are present. */
  tellState(member: Member) {
    sendTo(member, "presence_state", grouped(this.present(member)))
  }

  track(member: Member, payload: Readonly<Record<string, unknown>>) {
    const { phx_ref: _, phx_ref_prev: __, ...rest } = payload
    const text = JSON.stringify(rest).slice(1, -1)
    const before = this.own.get(member)
    const now: Present = {
      key: member.presenceKey,
      ref: randomUUID(),
      meta: text === "" ? "" : `,${text}`,
      before: before?.ref
    }
    this.own.set(member, now)
    this.changedHere(member, [now], before === undefined ? [] : [before])
  }

  untrack(member: Member) {
    const before = this.own.get(member)
    this.own.delete(member)
    if (before !== undefined) this.changedHere(member, [], [before])
  }

  private changedHere(member: Member, joins: ReadonlyArray<Present>, leaves: ReadonlyArray<Present>) {
    const change = { name: member.name, private: member.private, joins, leaves }
    this.change(this.process, change)
    this.announce(change)
  }

  /** Applies a change of a process, and sends it to the members here. */
  change(process: string, change: PresenceChange) {
    const key = roomKey(change)
    const room = this.rooms.get(key) ?? { name: change.name, private: change.private, byProcess: new Map() }
    const all = room.byProcess.get(process) ?? new Map<string, Present>()
    const leaves = change.leaves.filter(({ ref }) => all.delete(ref))
    const joins = change.joins.filter(({ ref }) => !all.has(ref))
    for (const one of joins) all.set(one.ref, one)
    if (all.size === 0) room.byProcess.delete(process)
    else room.byProcess.set(process, all)
    if (room.byProcess.size === 0) this.rooms.delete(key)
    else this.rooms.set(key, room)
    if (joins.length + leaves.length === 0) return
    const diff = `{"joins":${grouped(joins)},"leaves":${grouped(leaves)}}`
    for (const member of this.local.members(change)) {
      if (member.presence && member.rights.presence.read) sendTo(member, "presence_diff", diff)
    }
  }

  /** All who are present in this process, for another that has just started. */
  get announced(): ReadonlyArray<PresenceChange> {
    return this.of(this.process)
  }

  /** Replaces the members of another process by its full list; the others have left. */
  replace(process: string, all: ReadonlyArray<PresenceChange>) {
    const now = new Map(all.map((room) => [roomKey(room), room]))
    for (const { joins, ...room } of this.of(process)) {
      const kept = new Set(now.get(roomKey(room))?.joins.map(({ ref }) => ref))
      this.change(process, { ...room, joins: [], leaves: joins.filter(({ ref }) => !kept.has(ref)) })
    }
    for (const room of all) this.change(process, room)
  }

  private of(process: string): ReadonlyArray<PresenceChange> {
    return [...this.rooms.values()].flatMap(({ byProcess, ...room }) => {
      const here = byProcess.get(process)
      return here === undefined ? [] : [{ ...room, joins: [...here.values()], leaves: [] }]
    })
  }
}
