use super::*;

const NOW: Millis = Millis(1_000_000);

fn ready(seq: u64) -> Item {
    Item {
        state: QueueState::Ready,
        lane: 2,
        seq,
        order_key: String::new(),
        attempt: 0,
        max_attempts: 3,
        not_before: None,
        lease: None,
        expires_at: None,
    }
}

fn leased(seq: u64, attempt: u32) -> Item {
    let lease = Lease { token: 77, until: Millis(NOW.0 + 10) };
    Item { state: QueueState::Leased, attempt, lease: Some(lease), ..ready(seq) }
}

#[test]
fn a_lane_is_delivered_in_order_and_the_control_lane_first() {
    let queue = [Item { lane: 0, ..ready(9) }, ready(3), ready(4), ready(5)];

    assert_eq!(choose(&queue, NOW, 3), [0, 1, 2]);
}

#[test]
fn what_is_leased_or_to_be_repeated_keeps_its_lane_and_key_waiting_and_no_other() {
    let repeated = Item { attempt: 1, not_before: Some(Millis(NOW.0 + 5)), ..ready(2) };
    for head in [leased(1, 1), repeated] {
        let other_key = Item { order_key: "b".to_owned(), ..ready(4) };
        let queue = [Item { lane: 0, ..ready(9) }, head, ready(3), other_key, Item { lane: 3, ..ready(1) }];
        assert_eq!(choose(&queue, NOW, 9), [0, 3, 4]);
    }
}

#[test]
fn a_message_for_a_later_time_is_not_there_yet_and_blocks_nobody() {
    let queue = [Item { not_before: Some(Millis(NOW.0 + 1)), ..ready(1) }, ready(2)];

    assert_eq!(choose(&queue, NOW, 9), [1]);
    assert_eq!(choose(&queue, Millis(NOW.0 + 1), 9), [0, 1]);
}

#[test]
fn an_expired_message_is_not_delivered_even_before_anybody_has_swept() {
    let queue = [Item { expires_at: Some(NOW), ..ready(1) }, ready(2)];

    assert_eq!(choose(&queue, NOW, 9), [1]);
    assert_eq!(queue[0].expire(NOW), Some(Turn::Expired));
    assert_eq!(queue[0].expire(Millis(NOW.0 - 1)), None);
}

#[test]
fn only_the_delivery_that_holds_it_acknowledges_it_and_only_in_time() {
    let item = leased(1, 1);

    assert_eq!(item.ack(Some(77), NOW), Ok(Ack::Now));
    for (token, now) in [(Some(76), NOW), (None, NOW), (Some(77), Millis(NOW.0 + 10))] {
        assert_eq!(item.ack(token, now).unwrap_err().code, "bus.lease-lost");
    }
    assert_eq!(ready(1).ack(None, NOW), Ok(Ack::Now));
    assert_eq!(ready(1).ack(Some(77), NOW).unwrap_err().code, "bus.lease-lost");
    assert_eq!(Item { state: QueueState::Acked, ..ready(1) }.ack(None, NOW), Ok(Ack::Before));
    assert_eq!(Item { state: QueueState::Dead, ..ready(1) }.ack(None, NOW).unwrap_err().code, "bus.settled");
}

#[test]
fn a_lapse_returns_it_with_backoff_until_it_is_dead() {
    let late = Millis(NOW.0 + 10);
    let Some(Turn::Returned(again)) = leased(1, 1).expire(late) else { panic!("it was not returned") };
    assert!((900..=1_100).contains(&(again.0 - late.0)));
    assert_eq!(leased(1, 1).expire(NOW), None);

    assert!(matches!(leased(1, 3).expire(late), Some(Turn::Dead(_))));
    assert!(matches!(leased(1, 3).nak(77, 0, NOW), Ok(Turn::Dead(_))));
    assert_eq!(Item { expires_at: Some(NOW), ..leased(1, 1) }.expire(late), Some(Turn::Expired));
}

#[test]
fn giving_it_back_waits_as_long_as_asked_but_not_less_than_the_backoff() {
    assert_eq!(leased(1, 1).nak(77, 5_000, NOW), Ok(Turn::Returned(Millis(NOW.0 + 5_000))));
    let Ok(Turn::Returned(at)) = leased(1, 2).nak(77, 1, NOW) else { panic!("it was not returned") };
    assert!((1_800..=2_200).contains(&(at.0 - NOW.0)));
}

#[test]
fn the_backoff_doubles_up_to_a_minute_give_or_take_a_tenth() {
    for (attempt, about) in [(1, 1_000), (2, 2_000), (3, 4_000), (7, 60_000), (99, 60_000)] {
        for seq in 0..2_000 {
            let wait = backoff(attempt, seq);
            assert!((about * 9 / 10..=about * 11 / 10).contains(&wait), "{attempt} {seq}: {wait}");
        }
    }
}

#[test]
fn what_nobody_has_seen_is_given_up_after_three_days_and_mail_for_somebody_who_left_after_ten_minutes() {
    let (sent, minute) = (NOW, 60_000);
    let after = |minutes: i64| sent.plus(minutes * minute);

    let here = [abandoned(sent, None, after(72 * 60 - 1)), abandoned(sent, None, after(72 * 60))];
    let left = [abandoned(sent, Some(after(5)), after(14)), abandoned(sent, Some(after(5)), after(15))];

    assert_eq!(here.map(|why| why.is_some()), [false, true]);
    assert_eq!(left, [None, Some("its recipient has left")]);
}
