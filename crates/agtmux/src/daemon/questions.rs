//! The questions that can be answered without a key: whoever may answer finds here who passes the answer on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agtmux_agents::answer::Decision;
use agtmux_core::id::RuntimeId;
use agtmux_core::prompt::Prompt;
use tokio::sync::oneshot;

/// More than any person has open. What comes then is answered in its pane.
const MOST: usize = 1_024;

/// The open questions, in the order in which they were asked.
#[derive(Default)]
pub struct Questions(Mutex<Open>);

#[derive(Default)]
struct Open {
    asked: u64,
    open: BTreeMap<u64, Question>,
}

struct Question {
    runtime: RuntimeId,
    hash: String,
    by: By,
    answer: oneshot::Sender<Answer>,
}

/// Who passes an answer on to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The agent's hook, which waits for it.
    Hook,
    /// The agent's own server.
    Server,
}

/// What came of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Who was to pass it on.
    pub by: By,
    /// Whether the agent has it.
    pub is_passed_on: bool,
}

/// An answer on its way to an agent.
pub struct Answer {
    /// What is decided.
    pub decision: Decision,
    /// Dropped without a word if the agent did not get the answer.
    pub passed_on: oneshot::Sender<()>,
}

/// A question that can be answered, for as long as this is kept.
pub struct Asked {
    questions: Arc<Questions>,
    number: u64,
    /// The answer, once somebody gives one. Closed when the same is asked anew.
    pub answer: oneshot::Receiver<Answer>,
}

impl Questions {
    /// Opens a question. The same one, asked before and never answered, is over: an agent asks one thing at a time once.
    pub fn ask(self: &Arc<Self>, runtime: RuntimeId, hash: String, by: By) -> Option<Asked> {
        let mut open = self.locked();
        open.open.retain(|_, other| !(other.runtime == runtime && other.hash == hash));
        if open.open.len() >= MOST {
            return None;
        }
        open.asked += 1;
        let number = open.asked;
        let (sender, answer) = oneshot::channel();
        open.open.insert(number, Question { runtime, hash, by, answer: sender });
        Some(Asked { questions: Arc::clone(self), number, answer })
    }

    /// Answers a question of a runtime. `None` if nobody would pass the answer on.
    pub async fn answer(&self, runtime: &RuntimeId, prompt: &Prompt, decision: Decision) -> Option<Given> {
        let question = self.take(runtime, prompt)?;
        let (passed_on, is_passed_on) = oneshot::channel();
        let is_sent = question.answer.send(Answer { decision, passed_on }).is_ok();
        Some(Given { by: question.by, is_passed_on: is_sent && is_passed_on.await.is_ok() })
    }

    fn take(&self, runtime: &RuntimeId, prompt: &Prompt) -> Option<Question> {
        let mut open = self.locked();
        let is_it = |question: &Question| {
            let is_told = prompt.tellings.iter().any(|telling| telling.shown && telling.hash == question.hash);
            question.runtime == *runtime && is_told
        };
        let number = open.open.iter().rev().find(|(_, question)| is_it(question)).map(|(number, _)| *number)?;
        open.open.remove(&number)
    }

    fn locked(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.questions.locked().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agtmux_agents::answer::Decision;
    use agtmux_core::id::RuntimeId;
    use agtmux_core::prompt::{Prompt, Telling};
    use agtmux_core::signal::Source;

    use super::{By, Given, MOST, Questions};

    fn runtime(id: &str) -> RuntimeId {
        RuntimeId::new(id)
    }

    fn prompt(hash: &str) -> Prompt {
        let telling = Telling { source: Source::Hook, hash: hash.to_owned(), shown: true, subject: None };
        Prompt { subject: None, hash: hash.to_owned(), tellings: vec![telling] }
    }

    #[tokio::test]
    async fn an_answer_goes_to_its_question_once() {
        let questions = Arc::new(Questions::default());
        let a = questions.ask(runtime("rt_1"), "a".to_owned(), By::Hook).expect("room");
        let mut b = questions.ask(runtime("rt_1"), "b".to_owned(), By::Server).expect("room");
        assert_eq!(questions.answer(&runtime("rt_2"), &prompt("a"), Decision::Allow).await, None);
        assert_eq!(questions.answer(&runtime("rt_1"), &prompt("c"), Decision::Allow).await, None);
        drop(a);
        assert_eq!(questions.answer(&runtime("rt_1"), &prompt("a"), Decision::Allow).await, None, "its hook is gone");
        let hook = async {
            let answer = (&mut b.answer).await.expect("an answer");
            assert_eq!(answer.decision, Decision::Allow);
            answer.passed_on.send(()).expect("a listener");
        };
        let answering = {
            let questions = Arc::clone(&questions);
            async move { questions.answer(&runtime("rt_1"), &prompt("b"), Decision::Allow).await }
        };
        let ((), answered) = tokio::join!(hook, answering);
        assert_eq!(answered, Some(Given { by: By::Server, is_passed_on: true }));
        assert_eq!(questions.answer(&runtime("rt_1"), &prompt("b"), Decision::Allow).await, None, "once");
    }

    #[tokio::test]
    async fn a_question_asked_anew_ends_the_one_before() {
        let questions = Arc::new(Questions::default());
        let mut first = questions.ask(runtime("rt_1"), "a".to_owned(), By::Hook).expect("room");
        let _second = questions.ask(runtime("rt_1"), "a".to_owned(), By::Hook).expect("room");
        assert!((&mut first.answer).await.is_err());
    }

    #[test]
    fn they_are_bounded() {
        let questions = Arc::new(Questions::default());
        let open: Vec<_> =
            (0..2 * MOST).filter_map(|n| questions.ask(runtime("rt_1"), n.to_string(), By::Hook)).collect();
        assert_eq!(open.len(), MOST);
    }
}
