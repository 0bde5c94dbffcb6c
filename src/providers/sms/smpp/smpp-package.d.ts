/** The part of the package `smpp` that this service uses. The package has no types of its own. */
declare module 'smpp' {
  import type { EventEmitter } from 'node:events'
  import type { Server as NetServer } from 'node:net'

  type Text = { message?: string | Buffer; udh?: Buffer | Buffer[] }

  export type Pdu = {
    command: string
    command_status: number
    isResponse(): boolean
    response(fields?: Record<string, unknown>): Pdu
    message_id?: string
    source_addr?: string
    source_addr_ton?: number
    destination_addr?: string
    dest_addr_ton?: number
    esm_class?: number
    data_coding?: number
    short_message?: Text
    message_payload?: Text
    receipted_message_id?: string
    message_state?: number
    sar_msg_ref_num?: number
    sar_total_segments?: number
    sar_segment_seqnum?: number
    [field: string]: unknown
  }

  /** Sends a request. Returns false when the connection cannot be written to. */
  type Command = (fields: Record<string, unknown>, onAnswer?: (answer: Pdu) => void) => boolean

  export interface Session extends EventEmitter {
    bind_transceiver: Command
    submit_sm: Command
    deliver_sm: Command
    enquire_link: Command
    unbind: Command
    send(pdu: Pdu): boolean
    close(): void
    destroy(): void
  }

  export interface Server extends NetServer {
    sessions: Session[]
  }

  export type Smpp = {
    connect(options: Record<string, unknown>): Session
    createServer(options: Record<string, unknown>, onSession: (session: Session) => void): Server
    addTLV(tag: string, options: { id: number; type: unknown }): void
    errors: Record<string, number>
    encodings: Record<'ASCII' | 'UCS2', { encode(text: string): Buffer; decode(bytes: Buffer): string }>
    types: { tlv: { string: unknown } }
  }

  const smpp: Smpp
  export default smpp
}
