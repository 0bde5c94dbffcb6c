import { expect, test } from 'vitest'
import { startReceiver } from '../../servers/receiver.ts'
import { expectNoBarriers } from '../axe.ts'
import { type Journey, visit } from '../journey.ts'
import { receiveMail, startJob } from '../seeds/messages.ts'

const messageJourneys: Journey = (stage) => {
  const send = async (body: object): Promise<string> => {
    const { t, org } = stage()
    const from = 'hello@example.test'
    const reply = await t.ask('POST', '/api/v1/emails', { key: org.keys.live, body: { from, text: 'Hi', ...body } })
    expect(reply.status).toBeLessThan(300)
    return reply.body.id
  }
  const html = `<style>h1{color:rgb(1, 2, 3)}</style><h1>Parcel</h1><p style="color:rgb(4, 5, 6)" onclick="x()">On its way</p>
    <script>parent.document.title = 'bad'</script><img src="https://example.com/a.png" alt="Logo">
    ${'<b>…</b>'.repeat(250)}<h2 style="color:rgb(7, 8, 9)">The end</h2>`

  test('Somebody finds a message by its recipient, reads it as its reader did, and sends it again', async () => {
    const { t, again } = stage()
    const to = `delivered+${Date.now()}@simulator.tidings.test`
    const id = await send({ to: [to], subject: 'Parcel on its way', html })
    const page = await again('developer')
    await visit(page, '/messages')
    await page.keyboard.press('/')
    await page.keyboard.type(to)
    await page.getByRole('row').filter({ hasText: to }).click()
    await page.getByRole('heading', { name: 'Parcel on its way' }).waitFor()
    expect(new URL(page.url()).searchParams.get('open')).toBe(id)
    const body = page.frameLocator('iframe[title="Message body"]')
    const colorOf = (selector: string) =>
      body.locator(selector).evaluate((element) => {
        const { getComputedStyle } = globalThis as unknown as { getComputedStyle(of: unknown): { color: string } }
        return getComputedStyle(element).color
      })
    // A large mail appears slice by slice.
    expect([await colorOf('h2'), await colorOf('h1'), await colorOf('p')]).toEqual([
      'rgb(7, 8, 9)',
      'rgb(1, 2, 3)',
      'rgb(4, 5, 6)',
    ])
    await page.getByText('1 picture from other servers not loaded').waitFor()
    expect(await page.title()).toContain('Messages')
    await expectNoBarriers(page)

    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByRole('list', { name: 'Timeline' }).getByText('Delivered', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('A copy is on its way').waitFor()
    const sent = await t.database.sql<{ id: string }>(`select id from messages where metadata ->> 'resent_from' = $1`, [
      id,
    ])
    expect(sent).toHaveLength(1)
    await expect.poll(() => new URL(page.url()).searchParams.get('open')).toBe(sent[0]?.id)
  })

  test('A message shows what webhooks got about it, and its source', async () => {
    const { t, org, again } = stage()
    const receiver = await startReceiver((_, response) => response.end('thanks'))
    const key = org.keys.live
    await t.ask('POST', '/api/v1/webhooks', { key, body: { url: receiver.url, events: ['message.delivered'] } })
    const id = await send({
      to: ['delivered@simulator.tidings.test'],
      subject: 'Seen twice',
      headers: { 'X-Order': '7' },
    })
    const arrived = async (): Promise<boolean> => {
      await t.ask('POST', '/api/dev/run', { body: { task: 'webhooks' } })
      return receiver.got.some(({ body }) => body.data.message_id === id)
    }
    await expect.poll(arrived).toBe(true)
    const page = await again('viewer')
    await visit(page, `/messages?open=${id}&tab=webhooks`)
    // The endpoints of other journeys do not answer.
    await page
      .getByRole('row')
      .filter({ hasText: 'message.delivered' })
      .filter({ hasText: /Delivered/ })
      .click()
    await page.getByText('thanks').waitFor()
    const { body } = receiver.got.find(({ body }) => body.data.message_id === id) ?? {}
    await page.getByRole('row', { name: `X-Service-Delivery-Id ${body?.delivery_id}` }).waitFor()
    await page.getByRole('row', { name: 'X-Service-Signature-V2 made for each attempt' }).waitFor()
    const payload = await page.getByRole('region', { name: 'Payload' }).innerText()
    expect(JSON.parse(payload)).toEqual(body)
    expect(await page.getByRole('link', { name: id }).getAttribute('href')).toBe(`/messages?open=${id}`)
    await page.getByRole('tab', { name: 'Source' }).click()
    await page.getByRole('row', { name: 'X-Order 7' }).waitFor()
    await page.getByRole('region', { name: 'Raw source' }).getByText('Subject: Seen twice').waitFor()
    await receiver.stop()
  })

  test('A developer cancels a scheduled message, and a viewer reads which role may', async () => {
    const { t, org, again } = stage()
    const at = new Date(t.service.clock.millis() + 86_400_000).toISOString()
    const id = await send({ to: ['later@simulator.tidings.test'], subject: 'Later', scheduled_at: at })
    const viewer = await again('viewer')
    await visit(viewer, `/messages?open=${id}`)
    await viewer.getByRole('button', { name: 'Cancel message' }).hover()
    await viewer.getByText('Needs the owner or developer role').first().waitFor()
    const page = await again('developer')
    await visit(page, `/messages?open=${id}`)
    await page.getByRole('button', { name: 'Cancel message' }).click()
    await page
      .getByRole('dialog', { name: 'Cancel this message?' })
      .getByRole('button', { name: 'Cancel message' })
      .click()
    await page.getByText('The message is canceled').waitFor()
    expect((await t.ask('GET', `/api/v1/emails/${id}`, { key: org.keys.live })).body.status).toBe('canceled')
  })

  test('Somebody reads a received message and saves its file, and watches a job until a developer cancels it', async () => {
    const { t, org, again } = stage()
    await receiveMail(stage(), 'journey.acme.test')
    const id = await startJob(stage(), 'journey-news')
    const viewer = await again('viewer')
    await visit(viewer, '/messages')
    await viewer.getByRole('tab', { name: 'Inbound' }).click()
    await viewer.getByRole('row').filter({ hasText: 'ada@reader.test' }).first().click()
    await viewer.getByText('parcel 4711 has not arrived').waitFor()
    const [saved] = await Promise.all([
      viewer.waitForEvent('download'),
      viewer.getByRole('link', { name: 'receipt.txt' }).click(),
    ])
    expect(saved.suggestedFilename()).toBe('receipt.txt')

    const page = await again('developer')
    await visit(page, '/messages?view=jobs')
    await page.getByRole('row').filter({ hasText: 'journey-news' }).click()
    const counts = page.getByRole('region', { name: 'Messages by status' })
    await counts.getByText('3', { exact: true }).waitFor()
    expect(new URL(page.url()).searchParams.get('open')).toBe(id)
    await t.database.sql(
      `update messages set status = 'failed' where job_id = $1 and id = (select min(id) from messages where job_id = $1)`,
      [id],
    )
    await page.getByText('1 of 3').last().waitFor()
    await page.getByRole('button', { name: 'Cancel job' }).click()
    await page.getByRole('dialog', { name: 'Cancel this job?' }).getByRole('button', { name: 'Cancel job' }).click()
    await page.getByText('The job is canceled, with 2 messages').waitFor()
    expect((await t.ask('GET', `/api/v1/jobs/${id}`, { key: org.keys.live })).body.status).toBe('canceled')
    await page.getByRole('link', { name: 'Show its messages' }).click()
    await page.getByRole('button', { name: `Of the job ${id}` }).waitFor()
    await expect.poll(() => page.getByRole('row').count()).toBe(4)
  })
}

export default messageJourneys
