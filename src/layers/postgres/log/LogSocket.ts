import { Socket, type SocketConstructorOpts } from "node:net"

const readBytes = 256 * 1024

/** Sockets whose reader copies what it keeps. */
const reused = new WeakSet<Socket>()

/**
 * A socket that reads into one buffer. With a new buffer for each read of the log, the garbage collector takes more
 * processor time than everything else that archives.
 */
export const logSocket = (): Socket => {
  const options = {
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback: (length: number, buffer: Uint8Array) => {
        const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, length)
        socket.emit("data", reused.has(socket) ? bytes : Buffer.from(bytes))
        return true
      }
    }
  }
  // The types list `onread` for connect() only.
  const socket = new Socket(options as SocketConstructorOpts)
  return socket
}

const [copyData, logData] = [0x64, 0x77]
/** Type and length of a message. */
const messageHead = 5
/** Those, then of a CopyData message with log: its kind, its position, the end of the log and the server's time. */
const logHead = messageHead + 25

/**
 * Takes the messages with log (XLogData, PostgreSQL documentation 54.4) out of a driver's socket, and passes on their
 * bytes as they arrive; the driver, which would first put each message of 128 KiB together, gets every other one. It must
 * not be within a message.
 *
 * @param received gets the position of the bytes, which it has to copy
 */
export const takeLog = (stream: Socket, received: (position: bigint, bytes: Buffer) => void): void => {
  const drivers = stream.listeners("data")
  stream.removeAllListeners("data")
  reused.add(stream)
  const pass = (bytes: Buffer) => {
    const kept = Buffer.from(bytes)
    for (const listener of drivers) listener.call(stream, kept)
  }
  const head = Buffer.alloc(logHead)
  let headBytes = 0
  /** What is missing of a message with log, and of another one. */
  let [ofLog, ofOther] = [0, 0]
  let position = 0n

  const readHead = (bytes: Buffer) => {
    const wanted = headBytes < messageHead ? messageHead : logHead
    const part = bytes.subarray(0, wanted - headBytes)
    part.copy(head, headBytes)
    headBytes += part.length
    if (headBytes < wanted) return part.length
    // The length counts itself, but not the type.
    const whole = head.readUInt32BE(1) + 1
    if (headBytes === messageHead && head[0] === copyData && whole >= logHead) return part.length
    if (headBytes === logHead && head[messageHead] === logData) {
      ofLog = whole - headBytes
      position = head.readBigUInt64BE(messageHead + 1)
    } else {
      ofOther = whole - headBytes
      pass(head.subarray(0, headBytes))
    }
    headBytes = 0
    return part.length
  }

  stream.on("data", (bytes: Buffer) => {
    let at = 0
    while (at < bytes.length) {
      if (ofLog > 0) {
        const part = bytes.subarray(at, at + ofLog)
        received(position, part)
        position += BigInt(part.length)
        ofLog -= part.length
        at += part.length
      } else if (ofOther > 0) {
        const part = bytes.subarray(at, at + ofOther)
        ofOther -= part.length
        at += part.length
        pass(part)
      } else at += readHead(bytes.subarray(at))
    }
  })
}
